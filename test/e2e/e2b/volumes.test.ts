import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { e2bSecret } from '@vivarium/sdk';
import {
  AuthenticationError,
  NotEnoughSpaceError,
  Sandbox,
  Volume,
  VolumeError,
  VolumeNotFoundError,
  VolumePathNotFoundError,
} from 'e2b';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';

let node: E2bNode;
let volume: Volume;
before(async () => {
  node = await startE2bNode();
  volume = await Volume.create('files', node.connection);
});
after(() => node.close());

const MIB = 1_048_576;
const status = (code: number) => (error: Error) => {
  assert.ok(error instanceof VolumeError && error.message.startsWith(`${code}: `), `${error}`);
  return true;
};

test('a volume is made, found, listed and destroyed', async () => {
  const made = await Volume.create('lifecycle', node.connection);
  assert.equal(made.name, 'lifecycle');
  const info = await Volume.getInfo(made.volumeId, node.connection);
  assert.deepEqual([info.volumeId, info.name, info.token], [made.volumeId, 'lifecycle', made.token]);
  const again = await Volume.connect(made.volumeId, node.connection);
  assert.deepEqual([again.volumeId, again.token], [made.volumeId, made.token]);
  const listed = await Volume.list(node.connection);
  assert.deepEqual(
    listed.filter(({ volumeId }) => volumeId === made.volumeId),
    [{ volumeId: made.volumeId, name: 'lifecycle' }],
  );
  assert.equal(await Volume.destroy(made.volumeId, node.connection), true);
  assert.equal(await Volume.destroy(made.volumeId, node.connection), false);
  await assert.rejects(Volume.getInfo(made.volumeId, node.connection), VolumeNotFoundError);
  assert.equal(await made.exists('/'), false, 'nor are its files there');
  assert.ok(!(await Volume.list(node.connection)).some(({ volumeId }) => volumeId === made.volumeId));
});

test('a name that is taken and one that can not be are refused', async () => {
  await assert.rejects(Volume.create('files', node.connection), status(400));
  for (const name of ['', 'vol name', 'vol.name', 'vol/a', '{x}', 'x'.repeat(129)])
    await assert.rejects(Volume.create(name, node.connection), status(400), name);
});

test('text, bytes, blobs and streams come back as they went in', async () => {
  await volume.writeFile('/text.txt', 'Grüße, 世界 🌍');
  assert.equal(await volume.readFile('/text.txt'), 'Grüße, 世界 🌍');
  const bytes = new Uint8Array(randomBytes(100_000));
  await volume.writeFile('/bytes.bin', bytes.buffer);
  assert.deepEqual(await volume.readFile('/bytes.bin', { format: 'bytes' }), bytes);
  await volume.writeFile('/blob.bin', new Blob([bytes]));
  assert.deepEqual(new Uint8Array(await (await volume.readFile('/blob.bin', { format: 'blob' })).arrayBuffer()), bytes);
  await volume.writeFile('/stream.bin', new Blob([bytes]).stream());
  const stream = await volume.readFile('/stream.bin', { format: 'stream' });
  assert.deepEqual(new Uint8Array(await new Response(stream).arrayBuffer()), bytes);
});

test('an empty file is empty in every format', async () => {
  await volume.writeFile('/empty', '');
  assert.equal(await volume.readFile('/empty'), '');
  assert.equal((await volume.readFile('/empty', { format: 'bytes' })).length, 0);
  assert.equal((await volume.readFile('/empty', { format: 'blob' })).size, 0);
  assert.equal(await new Response(await volume.readFile('/empty', { format: 'stream' })).text(), '');
  assert.equal((await volume.getInfo('/empty')).size, 0);
});

test('a file is replaced with force only, and its new content has the attributes of the call', async () => {
  await volume.writeFile('/once.txt', 'first', { mode: 0o600, uid: 7, gid: 8 });
  await assert.rejects(volume.writeFile('/once.txt', 'second'), status(409));
  assert.equal(await volume.readFile('/once.txt'), 'first');
  const entry = await volume.writeFile('/once.txt', 'third', { force: true });
  assert.equal(await volume.readFile('/once.txt'), 'third');
  assert.deepEqual([entry.mode, entry.uid, entry.gid, entry.size], [0o644, 1000, 1000, 5]);
});

test('files and directories have the mode and owner that a call names', async () => {
  const file = await volume.writeFile('/owned.txt', 'x', { uid: 12345, gid: 54321, mode: 0o640 });
  assert.deepEqual([file.uid, file.gid, file.mode], [12345, 54321, 0o640]);
  const only = await volume.writeFile('/owned-2.txt', 'x', { uid: 12345 });
  assert.deepEqual([only.uid, only.gid], [12345, 1000]);
  const dir = await volume.makeDir('/owned-dir', { uid: 1001, gid: 1002, mode: 0o700 });
  assert.deepEqual([dir.type, dir.uid, dir.gid, dir.mode], ['directory', 1001, 1002, 0o700]);
  const updated = await volume.updateMetadata('/owned.txt', { uid: 1001, gid: 1001, mode: 0o755 });
  assert.deepEqual([updated.path, updated.type, updated.uid, updated.mode], ['/owned.txt', 'file', 1001, 0o755]);
  const part = await volume.updateMetadata('/owned.txt', { mode: 0o600 });
  assert.deepEqual([part.uid, part.gid, part.mode], [1001, 1001, 0o600]);
  await assert.rejects(volume.writeFile('/owned-3.txt', 'x', { uid: 65_536 }), status(400));
});

test('info tells name, path, times and where a link points', async () => {
  const before = Date.now();
  await volume.writeFile('/info.txt', 'content');
  const info = await volume.getInfo('info.txt');
  assert.deepEqual([info.name, info.path, info.type, info.size], ['info.txt', '/info.txt', 'file', 7]);
  for (const time of [info.atime, info.mtime, info.ctime])
    assert.ok(time instanceof Date && Math.abs(time.getTime() - before) < 60_000, `${time}`);
  const root = await volume.getInfo('/');
  assert.deepEqual([root.type, root.path, root.uid], ['directory', '/', 1000]);
});

test('directories are made with their parents with force only', async () => {
  await assert.rejects(volume.makeDir('/deep/er/est'), VolumePathNotFoundError);
  assert.equal((await volume.makeDir('/deep/er/est', { force: true })).path, '/deep/er/est');
  assert.equal((await volume.makeDir('/deep/er/est', { force: true })).type, 'directory', 'there already: fine');
  await assert.rejects(volume.makeDir('/deep/er/est'), status(409));
  await volume.writeFile('/plain', 'x', { force: true });
  await assert.rejects(volume.makeDir('/plain', { force: true }), status(409));
  await assert.rejects(volume.writeFile('/no/such/file', 'x'), VolumePathNotFoundError);
  await volume.writeFile('/made/for/it', 'x', { force: true });
  assert.equal(await volume.readFile('/made/for/it'), 'x');
});

test('a list goes as deep as it is asked to', async () => {
  await volume.makeDir('/tree/a/b/c', { force: true });
  await volume.writeFile('/tree/1.txt', '1');
  await volume.writeFile('/tree/a/2.txt', '2');
  const paths = async (depth?: number) =>
    (await volume.list('/tree', depth === undefined ? {} : { depth })).map(({ path }) => path).sort();
  assert.deepEqual(await paths(), ['/tree/1.txt', '/tree/a']);
  assert.deepEqual(await paths(2), ['/tree/1.txt', '/tree/a', '/tree/a/2.txt', '/tree/a/b']);
  assert.equal((await paths(10)).length, 5);
  await assert.rejects(volume.list('/tree', { depth: 11 }), status(400));
  await assert.rejects(volume.list('/not-there'), VolumePathNotFoundError);
  await assert.rejects(volume.list('/tree/1.txt'), status(400));
  await volume.makeDir('/bare');
  assert.deepEqual(await volume.list('/bare'), []);
});

test('removing takes whole directories; what is not there is an error', async () => {
  await volume.makeDir('/gone/by/now', { force: true });
  await volume.writeFile('/gone/file.txt', 'x');
  await volume.remove('/gone');
  assert.equal(await volume.exists('/gone'), false);
  await assert.rejects(volume.remove('/gone'), VolumePathNotFoundError);
  await assert.rejects(volume.remove('/'), status(400));
  await volume.writeFile('/file-gone', 'x');
  await volume.remove('/file-gone');
  assert.equal(await volume.exists('/file-gone'), false);
  await assert.rejects(volume.readFile('/file-gone'), VolumePathNotFoundError);
  await assert.rejects(volume.readFile('/file-gone', { format: 'stream' }), VolumePathNotFoundError);
  await assert.rejects(volume.updateMetadata('/file-gone', { mode: 0o644 }), VolumePathNotFoundError);
  await assert.rejects(volume.readFile('/'), status(400));
});

test('names with spaces, unicode and odd signs are names like others', async () => {
  for (const name of ['with space', 'naïve-文件-😀', '100%', 'a+b&c=d?e#f', 'quote\'"', '-dash', '..hidden']) {
    await volume.writeFile(`/odd/${name}`, name, { force: true });
    assert.equal(await volume.readFile(`/odd/${name}`), name);
    assert.equal((await volume.getInfo(`/odd/${name}`)).name, name);
  }
  assert.equal((await volume.list('/odd')).length, 7);
});

test('the token of one volume opens no other, and no key opens files', async () => {
  const other = await Volume.create('other', node.connection);
  await other.writeFile('/secret', 'x');
  const thief = new Volume(other.volumeId, 'other', volume.token);
  await assert.rejects(thief.readFile('/secret'), AuthenticationError);
  await assert.rejects(thief.list('/'), AuthenticationError);
  await assert.rejects(thief.writeFile('/secret', 'y', { force: true }), AuthenticationError);
  const byKey = new Volume(other.volumeId, 'other', node.connection.apiKey);
  await assert.rejects(byKey.readFile('/secret'), AuthenticationError);
  const nobody = new Volume('0000000000000000000a', 'none', volume.token);
  await assert.rejects(nobody.readFile('/secret'), VolumePathNotFoundError);
});

test('keys see their own volumes only, and mount none of another', async () => {
  const { secret } = await node.node.viv.keys.create({ name: 'tenant', scopes: ['sandboxes'] });
  const tenant = { ...node.connection, apiKey: e2bSecret(secret!) };
  assert.deepEqual(await Volume.list(tenant), []);
  await assert.rejects(Volume.getInfo(volume.volumeId, tenant), VolumeNotFoundError);
  assert.equal(await Volume.destroy(volume.volumeId, tenant), false);
  const mounts = (name: string) => Sandbox.create('base', { ...tenant, volumeMounts: { '/mnt/data': name } });
  await assert.rejects(mounts('files'), /there is no volume files/);
  await assert.rejects(mounts(volume.volumeId), /there is no volume/);
  const own = await Volume.create('files', tenant);
  assert.notEqual(own.volumeId, volume.volumeId);
  const sandbox = await mounts('files');
  await sandbox.files.write('/mnt/data/whose', 'the tenant’s');
  assert.equal(await volume.exists('/whose'), false);
  assert.equal(await own.readFile('/whose'), 'the tenant’s');
  await sandbox.kill();
});

test('what one sandbox writes the next one reads; a volume in use stays', async () => {
  const shared = await Volume.create('shared', node.connection);
  const mount = () => node.create({ volumeMounts: { '/mnt/data': shared } });
  const writer = await mount();
  await writer.files.write('/mnt/data/hello.txt', 'written by the writer');
  const info = await writer.getInfo();
  assert.deepEqual(info.volumeMounts, [{ name: 'shared', path: '/mnt/data' }]);
  await assert.rejects(Volume.destroy(shared.volumeId, node.connection), status(409));
  const reader = await mount();
  assert.equal(await reader.files.read('/mnt/data/hello.txt'), 'written by the writer');
  const id = await reader.commands.run('id -u; stat -c %u:%g /mnt/data/hello.txt; echo more >> /mnt/data/hello.txt');
  assert.equal(id.stdout, '1000\n1000:1000\n');
  assert.equal(await writer.files.read('/mnt/data/hello.txt'), 'written by the writermore\n');
  assert.equal(await shared.readFile('/hello.txt'), 'written by the writermore\n');
  await shared.writeFile('/from-outside', 'by the API');
  assert.equal(await reader.files.read('/mnt/data/from-outside'), 'by the API');
  await writer.kill();
  await reader.kill();
  assert.equal(await Volume.destroy(shared.volumeId, node.connection), true);
});

test('a full volume is NotEnoughSpaceError inside and 507 outside, and has room again afterwards', async () => {
  const { id } = await node.node.viv.volumes.create({ name: 'small', sizeMiB: 16 });
  const small = await Volume.connect(id, node.connection);
  await assert.rejects(small.writeFile('/big', new Blob([randomBytes(24 * MIB)])), status(507));
  assert.equal(await small.exists('/big'), false, 'nothing half-written stays');
  const sandbox = await node.create({ volumeMounts: { '/small': small } });
  await assert.rejects(sandbox.files.write('/small/big', new Blob([randomBytes(24 * MIB)])), NotEnoughSpaceError);
  await small.writeFile('/fits', new Blob([randomBytes(8 * MIB)]));
  await small.remove('/fits');
  await sandbox.kill();
});

test('a sandbox goes on with its volume after a pause, also one without memory; a fork shares it', async () => {
  const kept = await Volume.create('kept', node.connection);
  const sandbox = await node.create({ volumeMounts: { '/data': kept } });
  await sandbox.files.write('/data/a', '1');
  await sandbox.pause();
  await assert.rejects(Volume.destroy(kept.volumeId, node.connection), status(409));
  const resumed = await Sandbox.connect(sandbox.sandboxId, node.connection);
  assert.equal(await resumed.files.read('/data/a'), '1');
  await Sandbox.pause(sandbox.sandboxId, { ...node.connection, keepMemory: false });
  await kept.writeFile('/b', '2');
  const cold = await Sandbox.connect(sandbox.sandboxId, node.connection);
  assert.equal(await cold.files.read('/data/b'), '2');
  const snapshot = await cold.createSnapshot();
  const copy = await Sandbox.create(snapshot.snapshotId, node.connection);
  assert.equal((await copy.commands.run('ls -A /data')).stdout, '', 'a snapshot has nothing of a volume');
  await Promise.all([cold.kill(), copy.kill()]);
});

test('256 MiB are streamed up and down', async () => {
  const chunk = randomBytes(4 * MIB);
  const hash = createHash('sha256');
  let left = 64;
  const source = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left-- === 0) return controller.close();
      hash.update(chunk);
      controller.enqueue(chunk);
    },
  });
  const entry = await volume.writeFile('/large.bin', source);
  assert.equal(entry.size, 256 * MIB);
  const back = createHash('sha256');
  for await (const part of await volume.readFile('/large.bin', { format: 'stream' })) back.update(part);
  assert.equal(back.digest('hex'), hash.digest('hex'));
});
