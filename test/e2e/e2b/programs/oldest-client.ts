/** Version 1.13 of the client: create, run, files, list, time-out, kill. */
import assert from 'node:assert/strict';
import { Sandbox } from 'e2b-1x';

const sandbox = await Sandbox.create('base', { metadata: { by: '1.13' }, envs: { A: '1' }, timeoutMs: 60_000 });
assert.equal(await sandbox.isRunning(), true);
const run = await sandbox.commands.run('echo $A; echo err >&2');
assert.deepEqual([run.exitCode, run.stdout, run.stderr], [0, '1\n', 'err\n']);
await assert.rejects(sandbox.commands.run('exit 4'), { exitCode: 4 });
await sandbox.files.write('dir/file.txt', 'of 1.13');
assert.equal(await sandbox.files.read('dir/file.txt'), 'of 1.13');
assert.deepEqual(
  (await sandbox.files.list('dir')).map(({ name }) => name),
  ['file.txt'],
);
assert.equal(await sandbox.files.exists('dir/other'), false);
await sandbox.files.rename('dir/file.txt', 'dir/renamed.txt');
await sandbox.files.remove('dir/renamed.txt');
const handle = await sandbox.commands.run('cat', { background: true });
await sandbox.commands.sendStdin(handle.pid, 'typed');
while (handle.stdout !== 'typed') await new Promise((resolve) => setTimeout(resolve, 20));
assert.equal(await handle.kill(), true);
await sandbox.setTimeout(120_000);
const info = await Sandbox.getInfo(sandbox.sandboxId);
assert.deepEqual(info.metadata, { by: '1.13' });
const listed = await Sandbox.list({ query: { metadata: { by: '1.13' } } });
assert.deepEqual(
  listed.map(({ sandboxId }) => sandboxId),
  [sandbox.sandboxId],
);
const again = await Sandbox.connect(sandbox.sandboxId);
assert.equal((await again.commands.run('ls dir')).stdout, '');
await sandbox.kill();
assert.equal(await sandbox.isRunning(), false);
console.log('all is well');
process.exit(0);
