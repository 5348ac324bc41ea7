import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { CAN_NOT, type Line, type Served, serve } from './served.ts';

/** The languages that need no packages; Python's kernel is tried in the sandbox that has them (test/e2e/e2b). */
describe('kernels of the code interpreter', { skip: CAN_NOT, timeout: 120_000 }, () => {
  let served: Served;
  before(async () => {
    served = await serve({ CODE_INTERPRETER_OUTPUT_MIB: '1' });
  });
  after(() => served.close());
  const printed = (lines: Line[], type = 'stdout') =>
    lines
      .filter((line) => line.type === type)
      .map((line) => line.text)
      .join('');
  const texts = (lines: Line[]) => lines.filter((line) => line.type === 'result').map((line) => line.text);
  const error = (lines: Line[]) => lines.find((line) => line.type === 'error');
  const js = (code: string) => served.execute('javascript', code);
  const bash = (code: string, more = {}) => served.execute('bash', code, more);

  test('all that was printed comes before the end, in one piece per line at least', async () => {
    assert.equal(printed(await bash('seq 20000')), Array.from({ length: 20_000 }, (_, i) => `${i + 1}\n`).join(''));
    assert.deepEqual(
      (await js('console.log("one line")')).map(({ type, text }) => [type, text]),
      [['stdout', 'one line\n']],
    );
    assert.equal(printed(await bash("printf '\\xff\\xfe ok'")), '\ufffd\ufffd ok');
    assert.equal(printed(await bash('echo out; echo err >&2'), 'stderr'), 'err\n');
  });

  test('more output than the limit ends the execution with an error; the next one runs in the same shell', async () => {
    await bash('kept=1');
    const lines = await bash('yes');
    assert.deepEqual(
      [error(lines)?.name, error(lines)?.value],
      ['OutputLimitExceeded', 'The execution was interrupted: it made more than 1 MiB of output'],
    );
    assert.equal(printed(await bash('echo $kept')), '1\n');
  });

  test('what runs on in the background neither holds the execution nor stops at a full pipe', async () => {
    await bash('(sleep 0.3; seq 100000; echo done >"$HOME/done") & disown');
    assert.equal(
      printed(await bash('until [ -e "$HOME/done" ]; do sleep 0.1; done; echo seen')).endsWith('seen\n'),
      true,
    );
  });

  test('declarations of a cell outlive it and may be made again', async () => {
    await js('const a = 1; let b = 2; class C { m() { return a + b } }; function f() { return 3 }');
    assert.deepEqual(texts(await js('const a = 10; new C().m() + f()')), ['15']);
    await js('import { sep as s } from "node:path"; const { x, y: [z] } = await Promise.resolve({ x: 1, y: [2] })');
    assert.deepEqual(texts(await js('[s, x, z].join()')), ['/,1,2']);
  });

  test('the value of the last expression is the result, and only of an expression', async () => {
    const shown = [
      '5',
      '"a"',
      'null',
      '[1, { b: 2 }]',
      '({ a: 1 })',
      '{ a: 1 }',
      'Promise.resolve(7)',
      'new Map([[1, 2]])',
    ];
    const values = await Promise.all(shown.map(async (code) => texts(await js(code))));
    assert.deepEqual(values, [
      ['5'],
      ['a'],
      ['null'],
      ['[ 1, { b: 2 } ]'],
      ['{ a: 1 }'],
      ['{ a: 1 }'],
      ['7'],
      ['Map(1) { 1 => 2 }'],
    ]);
    for (const code of ['undefined', 'const q = 5', 'if (true) { 5 }', '5; let r = 6', '', '// nothing'])
      assert.deepEqual(texts(await js(code)), [], code);
  });

  test('values and display make representations of their own', async () => {
    const [own] = await js('({ [Symbol.for("Jupyter.display")]: () => ({ "text/html": "<b>", "x/y": "z" }) })');
    assert.deepEqual([own!.html, own!.extra, own!.is_main_result], ['<b>', { 'x/y': 'z' }, true]);
    const shown = await js('display({ a: 1 }); $$.html("<i>"); 0');
    assert.deepEqual(
      shown.map((line) => [line.text, line.html, line.is_main_result]),
      [
        ['{ a: 1 }', undefined, false],
        [undefined, '<i>', false],
        ['0', undefined, true],
      ],
    );
  });

  test('types are taken out of TypeScript, enums become objects', async () => {
    const code = 'enum E { A = 4 }\ninterface I { n: number }\nconst f = ({ n }: I): number => n * E.A\nf({ n: 2 })';
    assert.deepEqual(texts(await served.execute('ts', code)), ['8']);
    assert.equal(error(await served.execute('ts', 'const x: = 1'))?.name, 'SyntaxError');
  });

  test('errors of every kind have name, value and the frames of the code alone', async () => {
    const thrown = error(await js('function g() { throw new RangeError("far") }\ng()'));
    assert.deepEqual([thrown?.name, thrown?.value], ['RangeError', 'far']);
    assert.match(thrown!.traceback, /^RangeError: far\n {4}at g \(cell-\d+\.js:1:\d+\)\n {4}at cell-\d+\.js:2:1$/);
    assert.deepEqual([error(await js('throw 5'))?.value, error(await js('x y'))?.name], ['5', 'SyntaxError']);
    assert.equal(error(await js('await Promise.reject(new TypeError("late"))'))?.name, 'TypeError');
    assert.deepEqual([error(await js('process.exit(3)'))?.name, texts(await js('1'))], ['ProcessExit', ['1']]);
    assert.match(
      printed(
        await js('setTimeout(() => { throw new Error("later") }); await new Promise((r) => setTimeout(r, 50))'),
        'stderr',
      ),
      /^Uncaught Error: later/,
    );
  });

  test('bash says what a shell says: exit codes, syntax errors, its own end', async () => {
    for (const [code, status] of [
      ['false', '1'],
      ['(exit 7)', '7'],
      ['no-such-command', '127'],
      ['echo (', '2'],
      ["echo 'cut", '2'],
      ['exit 4', '4'],
      ['set -e; false', '1'],
    ])
      assert.deepEqual([error(await bash(code!))?.name, error(await bash(code!))?.value], ['ExitCode', status], code);
    assert.equal(error(await bash('exit 0')), undefined);
    assert.equal(printed(await bash('read x; echo "got:$x"; cat')), 'got:\n');
    assert.equal(printed(await bash('cat <<X\n$((1 + 1))\nX\nls /proc/self/fd | tr "\\n" " "')), '2\n0 1 2 3 ');
  });

  test('variables lent to an execution are put back, exported or not', async () => {
    await bash('export A=old; B=plain');
    const env_vars = { A: "it's", B: 'lent', C: '$(x)\n"' };
    assert.equal(printed(await bash('printf "%s|%s|%s" "$A" "$B" "$C"', { env_vars })), `it's|lent|$(x)\n"`);
    assert.equal(printed(await bash('echo $A $B $C.; env | grep -c "^B="')), 'old plain .\n0\n');
  });

  test('a kernel that dies is told and replaced; code that is interrupted leaves its variables', async () => {
    const died = await js(
      'process.stdout.write("last"); process.kill(process.pid, "SIGKILL"); await new Promise(() => {})',
    );
    assert.deepEqual([error(died)?.name, printed(died)], ['KernelDied', 'last']);
    assert.deepEqual(texts(await js('globalThis.kept = 7')), ['7']);
    for (const code of [
      'while (true);',
      'await new Promise(() => setInterval(() => {}, 1000))',
      'for (;;) console.log("x")',
    ]) {
      await assert.rejects(
        fetch(`${served.url}/execute`, {
          method: 'POST',
          body: JSON.stringify({ language: 'js', code }),
          signal: AbortSignal.timeout(300),
        }).then((answer) =>
          answer
            .text()
            .then((text) => assert.match(text, /OutputLimitExceeded/))
            .then(() => Promise.reject(new Error('ended'))),
        ),
      );
      assert.deepEqual(texts(await js('kept')), ['7'], code);
    }
  });

  test('executions of one context run one after another, those of two side by side', async () => {
    const slow = bash('sleep 0.5; echo first');
    const next = bash('echo second; date +%s%N >"$HOME/second"');
    const beside = await js('const { promise, resolve } = Promise.withResolvers(); resolve("beside"); await promise');
    assert.deepEqual([texts(beside), printed(await slow), printed(await next)], [['beside'], 'first\n', 'second\n']);
  });

  test('the server comes back when it was killed, and nobody is turned away meanwhile', async () => {
    const pid = printed(await bash('ps -o ppid= -p $$')).trim();
    process.kill(Number(pid), 'SIGKILL');
    const body = '{"language":"bash","code":"echo back"}';
    const head = `POST /execute HTTP/1.1\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`;
    assert.match(await served.raw(head + body), /"stdout","text":"back\\n"/);
  });
});
