import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Sandbox as Sandbox24 } from 'e2b-24x';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

let node: E2bNode;
before(async () => {
  node = await startE2bNode();
});
after(() => node.close());

/** Version 1.13 goes by host name only: host-names-tls.test.ts. */
describe('e2b 2.45', () => {
  test('creates, runs, writes, lists, pauses and kills', async () => {
    const sandbox = await Sandbox24.create('base', { metadata: { by: '2.45' }, envs: { A: '1' } });
    const run = await sandbox.commands.run('echo $A; echo err >&2');
    assert.deepEqual([run.exitCode, run.stdout, run.stderr], [0, '1\n', 'err\n']);
    await assert.rejects(sandbox.commands.run('exit 4'), { exitCode: 4 });
    await sandbox.files.write('dir/file.txt', 'of 2.45');
    assert.equal(await sandbox.files.read('dir/file.txt'), 'of 2.45');
    assert.deepEqual(
      (await sandbox.files.list('dir')).map(({ name }) => name),
      ['file.txt'],
    );
    const handle = await sandbox.commands.run('cat', { background: true, stdin: true });
    await sandbox.commands.sendStdin(handle.pid, 'typed');
    await sandbox.commands.closeStdin(handle.pid);
    assert.equal((await handle.wait()).stdout, 'typed');
    const listed = await Sandbox24.list({ query: { metadata: { by: '2.45' } } }).nextItems();
    assert.deepEqual(
      listed.map(({ sandboxId }) => sandboxId),
      [sandbox.sandboxId],
    );
    await sandbox.pause();
    assert.equal((await Sandbox24.getInfo(sandbox.sandboxId)).state, 'paused');
    const again = await Sandbox24.connect(sandbox.sandboxId);
    assert.equal(await again.files.read('dir/file.txt'), 'of 2.45');
    assert.equal(await sandbox.kill(), true);
    assert.equal(await sandbox.isRunning(), false);
  });
});
