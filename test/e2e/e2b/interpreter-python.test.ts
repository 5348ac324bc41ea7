import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Sandbox } from '@e2b/code-interpreter';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

/** Assertions say what it holds. */
// biome-ignore lint/suspicious/noExplicitAny: charts have many forms.
type Chart = any;

describe('Python, R and Java in the code interpreter', { timeout: 600_000 }, () => {
  let node: E2bNode;
  let sandbox: Sandbox;
  before(async () => {
    node = await startE2bNode({ interpreter: true });
    sandbox = await Sandbox.create({
      ...node.connection,
      envs: { TEST_ENV_VAR: 'of the sandbox' },
      timeoutMs: 600_000,
    });
    await sandbox.runCode('import matplotlib.pyplot as plt, numpy as np, datetime');
  });
  after(() => node.close());
  const chart = async (code: string): Promise<Chart> => {
    const { results, error } = await sandbox.runCode(`${code}\nplt.show()`);
    assert.equal(error, undefined);
    assert.ok(results[0]!.png);
    return results[0]!.chart;
  };

  test('lines of dates and numbers, with units, ticks and scales', async () => {
    const told = await chart(`
days = [datetime.date(2023, 9, 1) + datetime.timedelta(days=i) for i in range(3)]
plt.plot(days, [1, 2, 3], label='up')
plt.plot(days, [3, 2, 1])
plt.axhline(2)
plt.title('Two'); plt.xlabel('Time (s)'); plt.ylabel('Amplitude [Hz]'); plt.grid(True)`);
    assert.deepEqual(
      [told.type, told.title, told.x_label, told.x_unit, told.y_unit, told.x_scale, told.y_scale],
      ['line', 'Two', 'Time (s)', 's', 'Hz', 'datetime', 'linear'],
    );
    assert.deepEqual(told.elements[0], {
      label: 'up',
      points: [
        ['2023-09-01', 1],
        ['2023-09-02', 2],
        ['2023-09-03', 3],
      ],
    });
    assert.deepEqual([told.elements.length, told.elements[1].label], [2, 'Line 1']);
    assert.ok(told.x_ticks.every((tick: unknown) => typeof tick === 'string'));
    assert.ok(told.y_ticks.every((tick: unknown) => typeof tick === 'number'));
    assert.equal((await chart("plt.plot([1, 2], [1, 10]); plt.yscale('log')")).y_scale, 'log');
    assert.equal((await chart("plt.plot([1, 2, 3], ['a', 'b', 'c'])")).y_scale, 'categorical');
  });

  test('bars that stand and lie, in groups', async () => {
    const standing = await chart(
      "plt.bar(['a', 'b'], [3, 3], label='x'); plt.bar(['a', 'b'], [1, 2], bottom=[3, 3]); plt.ylabel('n')",
    );
    assert.deepEqual(
      standing.elements.map((bar: Chart) => [bar.label, bar.group, bar.value]),
      [
        ['a', 'x', 3],
        ['b', 'x', 3],
        ['a', 'Group 1', 1],
        ['b', 'Group 1', 2],
      ],
    );
    const lying = await chart("plt.barh(['a', 'b'], [3, 4]); plt.xlabel('n'); plt.ylabel('name')");
    assert.deepEqual(
      [lying.x_label, lying.y_label, lying.elements[1].value, lying.elements[1].label],
      ['name', 'n', 4, 'b'],
    );
  });

  test('scatter plots, pies, boxes with outliers, several charts, and what is none of them', async () => {
    const points = await chart("plt.scatter([1, 2], [3, 4], label='set')");
    assert.deepEqual(
      [points.type, points.elements],
      [
        'scatter',
        [
          {
            label: 'set',
            points: [
              [1, 3],
              [2, 4],
            ],
          },
        ],
      ],
    );
    const pie = await chart("plt.pie([90, 10], labels=['No', 'Yes'], autopct='%1.1f%%')");
    assert.deepEqual(pie.elements, [
      { label: 'No', angle: 324, radius: 1 },
      { label: 'Yes', angle: 36, radius: 1 },
    ]);
    const data = "{'A': [85, 90, 78, 92, 88], 'B': [95, 89, 76, 91, 84, 87]}";
    for (const lying of ['', ', vert=False']) {
      const boxes = await chart(`d = ${data}\nplt.boxplot(d.values(), labels=d.keys(), patch_artist=True${lying})`);
      assert.equal(boxes.type, 'box_and_whisker');
      assert.deepEqual(boxes.elements, [
        { label: 'A', min: 78, first_quartile: 85, median: 88, third_quartile: 90, max: 92, outliers: [] },
        { label: 'B', min: 84, first_quartile: 84.75, median: 88, third_quartile: 90.5, max: 95, outliers: [76] },
      ]);
    }
    const both = await chart("f, (a, b) = plt.subplots(1, 2); f.suptitle('Both'); a.plot([1]); b.bar(['x'], [1])");
    assert.deepEqual(
      [both.type, both.title, both.elements.map((one: Chart) => one.type)],
      ['superchart', 'Both', ['line', 'bar']],
    );
    const circle = await chart("f, a = plt.subplots(); a.add_artist(plt.Circle((0, 0), 1)); plt.title('Round')");
    assert.deepEqual(circle, { type: 'unknown', title: 'Round', elements: [] });
    assert.equal(await chart('plt.subplots()'), undefined);
  });

  test('await at the top, tasks that go on between cells, and asyncio.run', async () => {
    await sandbox.runCode('import asyncio\nasync def f(n):\n    await asyncio.sleep(0.05)\n    return n');
    assert.equal((await sandbox.runCode('await f(1)')).text, '1');
    assert.equal((await sandbox.runCode('asyncio.run(f(2))')).text, '2');
    await sandbox.runCode('task = asyncio.create_task(f(3))');
    assert.equal((await sandbox.runCode('import time; time.sleep(0)\nawait task')).text, '3');
  });

  test('magics, shell commands, and output of children', async () => {
    const shell = await sandbox.runCode(
      'import os, subprocess\nos.system("echo system")\nsubprocess.run(["echo", "run"])\n!echo bang; false\n_exit_code',
    );
    assert.deepEqual([shell.logs.stdout.join(''), shell.text], ['system\nrun\nbang\n', '1']);
    assert.equal((await sandbox.runCode('%%bash\necho magic')).logs.stdout.join(''), 'magic\n');
    const pip = await sandbox.runCode('%pip install --disable-pip-version-check --retries 0 no-such-package-here');
    assert.match(pip.logs.stderr.join(''), /No matching distribution found for no-such-package-here/);
  });

  test('nobody can be asked for input, and exit ends the cell', async () => {
    assert.equal((await sandbox.runCode('input("name? ")')).error?.name, 'StdinNotImplementedError');
    for (const code of ['exit()', 'quit()', 'raise SystemExit(1)'])
      assert.equal((await sandbox.runCode(`kept = 1\n${code}`)).error?.name, 'SystemExit', code);
    assert.equal((await sandbox.runCode('kept')).text, '1');
  });

  test('images are shown where they are saved or opened', async () => {
    const code = 'from PIL import Image\nimage = Image.new("RGB", (2, 2))\n';
    for (const last of ['image.show()', 'image.save("/tmp/a.png")', 'image'])
      assert.ok((await sandbox.runCode(code + last)).results[0]!.png, last);
  });

  test('code that forks, closes descriptors or takes all memory leaves a working interpreter', async () => {
    const forked = await sandbox.runCode(
      'import os\npid = os.fork()\nif pid == 0:\n    print("child")\nelse:\n    os.wait()\n    print("parent")',
    );
    assert.equal(forked.logs.stdout.join(''), 'child\nparent\n');
    assert.equal((await sandbox.runCode('import os; os.closerange(0, 1000)')).error?.name, 'KernelDied');
    assert.equal((await sandbox.runCode('a = bytearray(3_000_000_000)')).error?.name, 'KernelDied');
    assert.equal(
      (await sandbox.runCode('"x" * 20_000_000')).logs.stderr.join(''),
      'Left out of a result: text/plain (20000002 characters); the limit is 16777216\n',
    );
    assert.equal((await sandbox.runCode('1 + 1')).text, '2');
  });

  test('R and Java show values, keep them, and have the variables of sandbox and execution', async () => {
    const cases: Record<string, [string, string, string | undefined][]> = {
      r: [
        ['Sys.getenv("TEST_ENV_VAR")', '[1] "of the sandbox"', undefined],
        ['getwd()', '[1] "/home/user"', undefined],
        ['Sys.getenv("FOO")', '[1] "bar"', 'bar'],
        ['Sys.getenv("FOO", unset = "default")', '[1] "default"', undefined],
      ],
      java: [
        ['System.getProperty("TEST_ENV_VAR")', 'of the sandbox', undefined],
        ['System.getProperty("user.dir")', '/home/user', undefined],
        ['System.getProperty("FOO")', 'bar', 'bar'],
        ['System.getProperty("FOO", "default")', 'default', undefined],
      ],
    };
    for (const [language, steps] of Object.entries(cases))
      for (const [code, text, FOO] of steps)
        assert.equal((await sandbox.runCode(code, { language, ...(FOO && { envs: { FOO } }) })).text, text, code);
    const r = async (code: string) => await sandbox.runCode(code, { language: 'r' });
    assert.ok((await r('plot(1:3)')).results[0]!.png);
    assert.deepEqual((await r('data.frame(a = 1:2, b = c("x", NA))')).results[0]!.data, { a: [1, 2], b: ['x', null] });
    assert.deepEqual([(await r('stop("bad")')).error?.value, (await r('x <- 5; x * 2')).text], ['bad', '[1] 10']);
    const java = async (code: string) => await sandbox.runCode(code, { language: 'java' });
    assert.deepEqual(
      [(await java('int x = 5; System.out.println("out"); x * 2')).text, (await java('x + 1')).text],
      ['10', '6'],
    );
    assert.equal(
      (await java('throw new IllegalStateException("bad");')).error?.name,
      'java.lang.IllegalStateException',
    );
    assert.equal((await java('int y = "s";')).error?.name, 'CompilationError');
  });
});
