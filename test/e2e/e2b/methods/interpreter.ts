import assert from 'node:assert/strict';
import type { Checks } from './bed.ts';

/** What `@e2b/code-interpreter` adds to a sandbox. */
export const INTERPRETER_CHECKS: Checks = {
  'codeSandbox.runCode': async ({ code }) => {
    const sandbox = await code();
    const lines: string[] = [];
    const run = await sandbox.runCode('x = 20\nprint("out")\nx * 2 + 2', {
      onStdout: ({ line }) => void lines.push(line),
    });
    assert.deepEqual(
      [run.text, run.logs.stdout.join(''), lines.join(''), run.error],
      ['42', 'out\n', 'out\n', undefined],
    );
    assert.equal((await sandbox.runCode('x')).text, '20', 'the default context keeps its state');
    const failed = await sandbox.runCode('1 / 0');
    assert.deepEqual([failed.error?.name, failed.error?.value], ['ZeroDivisionError', 'division by zero']);
    assert.match(failed.error?.traceback ?? '', /ZeroDivisionError/);
    assert.equal((await sandbox.runCode('echo $((6 * 7))', { language: 'bash' })).logs.stdout.join(''), '42\n');
    assert.equal((await sandbox.runCode('[1, 2, 3].map((n) => n * 2).join()', { language: 'js' })).text, '2,4,6');
  },
  'codeSandbox.createCodeContext': async ({ code }) => {
    const sandbox = await code();
    const context = await sandbox.createCodeContext({ cwd: '/tmp', language: 'python' });
    assert.deepEqual([context.cwd, context.language], ['/tmp', 'python']);
    assert.equal((await sandbox.runCode('import os; os.getcwd()', { context })).text, '/tmp');
    await sandbox.removeCodeContext(context);
  },
  'codeSandbox.listCodeContexts': async ({ code }) => {
    const sandbox = await code();
    const { id } = await sandbox.createCodeContext();
    const listed = await sandbox.listCodeContexts();
    assert.deepEqual(
      listed.filter((context) => context.id === id).map(({ language }) => language),
      ['python'],
    );
    await sandbox.removeCodeContext(id);
  },
  'codeSandbox.removeCodeContext': async ({ code }) => {
    const sandbox = await code();
    const context = await sandbox.createCodeContext();
    await sandbox.removeCodeContext(context);
    assert.ok((await sandbox.listCodeContexts()).every(({ id }) => id !== context.id));
    await assert.rejects(sandbox.runCode('1', { context }));
  },
  'codeSandbox.restartCodeContext': async ({ code }) => {
    const sandbox = await code();
    const context = await sandbox.createCodeContext();
    await sandbox.runCode('kept = 1', { context });
    await sandbox.restartCodeContext(context);
    assert.equal((await sandbox.runCode('kept', { context })).error?.name, 'NameError');
    await sandbox.removeCodeContext(context);
  },
};
