import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Result, Sandbox } from '@e2b/code-interpreter';
import { NotFoundError, SandboxError, TimeoutError } from 'e2b';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

const ENVS = { TEST_ENV_VAR: 'of the sandbox' };

describe('the code interpreter', { timeout: 600_000 }, () => {
  let node: E2bNode;
  let sandbox: Sandbox;
  before(async () => {
    node = await startE2bNode({ interpreter: true });
    sandbox = await Sandbox.create({ ...node.connection, envs: ENVS, timeoutMs: 600_000 });
  });
  after(() => node.close());

  test('the last expression is the result, what is printed comes as it is printed', async () => {
    const printed: string[] = [];
    const warned: string[] = [];
    const shown: Result[] = [];
    const run = await sandbox.runCode('import sys\nx = 20\nprint("out")\nprint("err", file=sys.stderr)\nx * 2 + 2', {
      onStdout: ({ line }) => void printed.push(line),
      onStderr: ({ line }) => void warned.push(line),
      onResult: (result) => void shown.push(result),
    });
    assert.equal(run.text, '42');
    assert.deepEqual(run.logs, { stdout: ['out\n'], stderr: ['err\n'] });
    assert.deepEqual([printed, warned, shown.length, shown[0]!.isMainResult], [['out\n'], ['err\n'], 1, true]);
    assert.equal((await sandbox.runCode('x')).text, '20');
  });

  test('an error has name, value and traceback, and its execution a number', async () => {
    const names: string[] = [];
    const first = await sandbox.runCode('1 / 0', { onError: ({ name }) => void names.push(name) });
    assert.deepEqual(
      [first.error?.name, first.error?.value, names],
      ['ZeroDivisionError', 'division by zero', ['ZeroDivisionError']],
    );
    assert.match(first.error!.traceback, /1 1 \/ 0|1 \/ 0/);
    const second = await sandbox.runCode('undefined_name');
    assert.equal(second.error?.value, "name 'undefined_name' is not defined");
    assert.equal(second.executionCount, first.executionCount! + 1);
  });

  test('code runs as user in /home/user with the environment of the sandbox', async () => {
    const python = await sandbox.runCode(
      'import os, getpass, pwd; [os.getcwd(), pwd.getpwuid(os.getuid()).pw_name, os.environ["TEST_ENV_VAR"], os.environ["HOME"]]',
    );
    assert.deepEqual(python.results[0]!.json, ['/home/user', 'user', 'of the sandbox', '/home/user']);
    assert.equal((await sandbox.runCode('!pwd')).logs.stdout.join(''), '/home/user\n');
    for (const language of ['js', 'ts'])
      assert.equal((await sandbox.runCode('process.cwd()', { language })).text, '/home/user');
    const bash = await sandbox.runCode('pwd; whoami; echo $TEST_ENV_VAR', { language: 'bash' });
    assert.equal(bash.logs.stdout.join(''), '/home/user\nuser\nof the sandbox\n');
  });

  test('variables of one execution are gone in the next, and those of the sandbox are back', async () => {
    const envs = { TEST_ENV_VAR: 'overwritten', FOO: 'it\'s "quoted" $HOME' };
    const shown = {
      python: 'import os; print(os.getenv("TEST_ENV_VAR"), os.getenv("FOO"))',
      javascript: 'console.log(process.env.TEST_ENV_VAR, process.env.FOO ?? "None")',
      bash: 'test -v FOO || FOO=None; echo $TEST_ENV_VAR "$FOO"; test "$FOO" != None || unset FOO',
    };
    for (const [language, code] of Object.entries(shown)) {
      const lent = await sandbox.runCode(code, { language, envs });
      assert.equal(lent.logs.stdout.join(''), `overwritten ${envs.FOO}\n`, language);
      assert.equal((await sandbox.runCode(code, { language })).logs.stdout.join(''), 'of the sandbox None\n', language);
    }
  });

  test('results have every representation: text, html, png with chart, data of a table, latex, json', async () => {
    const figure = await sandbox.runCode(
      'import matplotlib.pyplot as plt\nplt.bar(["a", "b"], [3, 4])\nplt.title("Bars")\nplt.ylabel("Size (m)")\nplt.show()',
    );
    const [picture] = figure.results;
    assert.equal(Buffer.from(picture!.png!, 'base64').subarray(1, 4).toString(), 'PNG');
    assert.match(picture!.text!, /^<Figure size/);
    assert.deepEqual([picture!.chart!.type, picture!.chart!.title, picture!.isMainResult], ['bar', 'Bars', false]);
    assert.deepEqual(picture!.chart!.elements, [
      { label: 'a', group: 'Group 0', value: 3 },
      { label: 'b', group: 'Group 0', value: 4 },
    ]);
    const table = await sandbox.runCode('import pandas as pd\npd.DataFrame({"a": [1, 2, float("nan")]})');
    assert.deepEqual(table.results[0]!.data, { a: [1, 2, null] });
    assert.match(table.results[0]!.html!, /<table/);
    const shown = await sandbox.runCode(
      'from IPython.display import *\ndisplay({"text/latex": "x"}, raw=True)\ndisplay(Markdown("# h"))\n{"a": [1]}',
    );
    assert.deepEqual(
      shown.results.map((result) => result.formats()),
      [['latex'], ['markdown'], ['json']],
    );
    assert.equal(shown.text, "{'a': [1]}");
  });

  test('JavaScript and TypeScript keep what they declare, import modules and await at the top', async () => {
    await sandbox.runCode('const z = 1', { language: 'js' });
    const again = await sandbox.runCode('const z = 2; const { a, b: [c] } = { a: z, b: [3] }; a + c', {
      language: 'js',
    });
    assert.equal(again.text, '5');
    const imported = await sandbox.runCode('import { sep } from "node:path"\nconst v = await Promise.resolve(sep)\nv', {
      language: 'javascript',
    });
    assert.equal(imported.text, '/');
    assert.equal((await sandbox.runCode('v + z', { language: 'js' })).text, '/2');
    const typed = await sandbox.runCode('enum E { A = 4 }\nconst f = (n: number): number => n * E.A\nf(2)', {
      language: 'ts',
    });
    assert.equal(typed.text, '8');
    const failed = await sandbox.runCode('throw new TypeError("bad")', { language: 'js' });
    assert.deepEqual([failed.error?.name, failed.error?.value], ['TypeError', 'bad']);
  });

  test('bash keeps directory and functions, and tells an exit code as an error', async () => {
    await sandbox.runCode('cd /tmp; double() { echo $(($1 * 2)); }', { language: 'bash' });
    const run = await sandbox.runCode('pwd; double 21', { language: 'bash' });
    assert.equal(run.logs.stdout.join(''), '/tmp\n42\n');
    const failed = await sandbox.runCode('(exit 3)', { language: 'bash' });
    assert.deepEqual([failed.error?.name, failed.error?.value], ['ExitCode', '3']);
    assert.equal((await sandbox.runCode('exit 4', { language: 'bash' })).error?.value, '4');
    assert.equal((await sandbox.runCode('echo new', { language: 'bash' })).logs.stdout.join(''), 'new\n');
  });

  test('contexts are apart from each other, listed, restarted and removed', async () => {
    const context = await sandbox.createCodeContext({ cwd: '/root', language: 'python' });
    assert.deepEqual([context.cwd, context.language], ['/root', 'python']);
    assert.deepEqual((await sandbox.listCodeContexts()).at(-1), context);
    await sandbox.runCode('mine = 1', { context });
    assert.equal((await sandbox.runCode('mine')).error?.name, 'NameError');
    assert.equal((await sandbox.runCode('import os; os.getcwd()', { context })).text, '/root');
    await sandbox.restartCodeContext(context.id);
    assert.equal((await sandbox.runCode('mine', { context })).error?.name, 'NameError');
    await sandbox.removeCodeContext(context);
    assert.ok((await sandbox.listCodeContexts()).every(({ id }) => id !== context.id));
    await assert.rejects(sandbox.runCode('1', { context }), NotFoundError);
    await assert.rejects(sandbox.removeCodeContext(context), NotFoundError);
    await assert.rejects(sandbox.restartCodeContext(context), NotFoundError);
    const languages = (await sandbox.listCodeContexts()).map(({ language }) => language);
    assert.ok(languages.includes('python') && languages.includes('javascript'));
  });

  test('what is asked wrongly is refused with its reason', async () => {
    await assert.rejects(
      sandbox.runCode('1', { language: 'cobol' }),
      (error) =>
        error instanceof SandboxError && /400 Language 'cobol' is not supported: there are python/.test(error.message),
    );
    await assert.rejects(sandbox.createCodeContext({ cwd: '/nowhere' }), /'\/nowhere' is not a directory/);
    await assert.rejects(sandbox.runCode('1', { language: 'bash', envs: { 'a-b': '1' } }), /'a-b' can not be the name/);
  });

  test('code that its client gave up is interrupted, and the next execution has the same variables', async () => {
    await sandbox.runCode('kept = 7');
    for (const code of ['import time; time.sleep(60)', 'while True: pass', 'import asyncio; await asyncio.sleep(60)']) {
      await assert.rejects(sandbox.runCode(code, { timeoutMs: 500 }), TimeoutError);
      assert.equal((await sandbox.runCode('kept', { timeoutMs: 30_000 })).text, '7', code);
    }
    await assert.rejects(sandbox.runCode('while (true);', { language: 'js', timeoutMs: 500 }), TimeoutError);
    assert.equal((await sandbox.runCode('1 + 1', { language: 'js', timeoutMs: 30_000 })).text, '2');
    await assert.rejects(sandbox.runCode('sleep 60', { language: 'bash', timeoutMs: 500 }), TimeoutError);
    assert.equal(
      (await sandbox.runCode('echo $((1 + 1))', { language: 'bash', timeoutMs: 30_000 })).logs.stdout[0],
      '2\n',
    );
  });

  test('a kernel that dies is an error of its execution; the next one has a new kernel', async () => {
    const context = await sandbox.createCodeContext();
    for (const code of ['import os; os._exit(3)', 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)']) {
      const died = await sandbox.runCode(`print("last words"); ${code}`, { context });
      assert.equal(died.error?.name, 'KernelDied');
      assert.deepEqual(died.logs.stdout, ['last words\n']);
      assert.equal((await sandbox.runCode('1 + 1', { context })).text, '2');
    }
    const exited = await sandbox.runCode('import sys; sys.exit(3)', { context });
    assert.deepEqual([exited.error?.name, exited.error?.value], ['SystemExit', '3']);
    await sandbox.removeCodeContext(context);
  });

  test('the server starts again when it was killed, under either of the names that E2B has for its parts', async () => {
    for (const pattern of ['[j]upyter-server', '[u]vicorn main:app']) {
      const health = 'curl -s -o /dev/null -w "%{http_code}" http://0.0.0.0:49999/health';
      assert.equal((await sandbox.commands.run(health)).stdout, '200');
      await sandbox.commands.run(`pkill -9 -f '${pattern}'`, { user: 'root' });
      assert.equal((await sandbox.runCode('x = 1; x')).text, '1');
    }
  });

  test('a pause keeps the variables; without memory, and in a sandbox made from a snapshot, the interpreter begins anew', async () => {
    await sandbox.runCode('paused = 5; open("/home/user/kept", "w").write("file")');
    await sandbox.pause();
    await sandbox.connect();
    assert.equal((await sandbox.runCode('paused')).text, '5');
    await sandbox.pause({ keepMemory: false });
    await sandbox.connect();
    assert.equal((await sandbox.runCode('open("/home/user/kept").read()')).text, 'file');
    assert.equal((await sandbox.runCode('paused')).error?.name, 'NameError');
    const { snapshotId } = await sandbox.createSnapshot();
    const copy = await Sandbox.create(snapshotId, { ...node.connection, timeoutMs: 120_000 });
    assert.equal((await copy.runCode('open("/home/user/kept").read()')).text, 'file');
    await copy.kill();
  });

  test('code of a sandbox that is killed ends with an error that says so', async () => {
    const short = await Sandbox.create({ ...node.connection });
    const running = short.runCode('import time; time.sleep(60)');
    const ended = assert.rejects(running, /sandbox was killed while the request was in progress/);
    await sleep(1500);
    await short.kill();
    await ended;
  });
});
