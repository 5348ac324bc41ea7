import assert from 'node:assert/strict';
import { Volume, VolumeNotFoundError, VolumePathNotFoundError } from 'e2b';
import { type Bed, type Checks, fresh } from './bed.ts';

/** `Volume`: its static methods need a key, the others the volume's own token. */
export const VOLUME_CHECKS: Checks = {
  'Volume.create': async (bed) => {
    const volume = await make(bed);
    assert.ok(volume.token.length > 20 && volume.volumeId.length > 0);
    await assert.rejects(Volume.create('not a name/at all', bed.connection));
    const sandbox = await bed.node.create({ volumeMounts: { '/mnt/data': volume } });
    await sandbox.files.write('/mnt/data/from-inside', 'by a sandbox');
    assert.equal(await volume.readFile('/from-inside'), 'by a sandbox');
    await sandbox.kill();
    await end(bed, volume);
  },
  'Volume.connect': async (bed) => {
    const volume = await make(bed);
    await volume.writeFile('/a', 'kept');
    const again = await Volume.connect(volume.volumeId, bed.connection);
    assert.deepEqual([again.name, await again.readFile('/a')], [volume.name, 'kept']);
    await end(bed, volume);
  },
  'Volume.getInfo': async (bed) => {
    const volume = await make(bed);
    const { volumeId, name, token } = await Volume.getInfo(volume.volumeId, bed.connection);
    assert.deepEqual([volumeId, name, token.length > 20], [volume.volumeId, volume.name, true]);
    await end(bed, volume);
    await assert.rejects(Volume.getInfo(volumeId, bed.connection), VolumeNotFoundError);
  },
  'Volume.list': async (bed) => {
    const volume = await make(bed);
    const listed = await Volume.list(bed.connection);
    assert.deepEqual(
      listed.filter(({ name }) => name === volume.name),
      [{ volumeId: volume.volumeId, name: volume.name }],
    );
    await end(bed, volume);
  },
  'Volume.destroy': async (bed) => {
    const { volumeId } = await make(bed);
    assert.equal(await Volume.destroy(volumeId, bed.connection), true);
    assert.equal(await Volume.destroy(volumeId, bed.connection), false);
  },
  'volume.writeFile': async (bed) => {
    const volume = await make(bed);
    const entry = await volume.writeFile('/ü.txt', 'text', { uid: 1000, gid: 1000, mode: 0o640 });
    assert.deepEqual([entry.path, entry.type, entry.size, entry.mode, entry.uid], ['/ü.txt', 'file', 4, 0o640, 1000]);
    await volume.writeFile('/ü.txt', new Blob(['replaced']), { force: true });
    assert.equal(await volume.readFile('/ü.txt'), 'replaced');
    await end(bed, volume);
  },
  'volume.readFile': async (bed) => {
    const volume = await make(bed);
    const all = Uint8Array.from({ length: 256 }, (_, n) => n);
    await volume.writeFile('/bytes', all.buffer);
    assert.deepEqual(await volume.readFile('/bytes', { format: 'bytes' }), all);
    const blob = await volume.readFile('/bytes', { format: 'blob' });
    assert.deepEqual(new Uint8Array(await blob.arrayBuffer()), all);
    const streamed = [];
    for await (const chunk of await volume.readFile('/bytes', { format: 'stream' })) streamed.push(...chunk);
    assert.deepEqual(Uint8Array.from(streamed), all);
    await volume.writeFile('/empty', '');
    assert.equal(await volume.readFile('/empty'), '');
    await assert.rejects(volume.readFile('/none'), VolumePathNotFoundError);
    await end(bed, volume);
  },
  'volume.list': async (bed) => {
    const volume = await make(bed);
    await volume.makeDir('/a/b', { force: true });
    await volume.writeFile('/a/b/c', 'x');
    const names = async (path: string, depth?: number) =>
      (await volume.list(path, depth === undefined ? {} : { depth })).map((entry) => entry.path).sort();
    assert.deepEqual(await names('/'), ['/a']);
    assert.deepEqual(await names('/a', 2), ['/a/b', '/a/b/c']);
    await assert.rejects(names('/none'), VolumePathNotFoundError);
    await end(bed, volume);
  },
  'volume.makeDir': async (bed) => {
    const volume = await make(bed);
    const entry = await volume.makeDir('/a', { mode: 0o750 });
    assert.deepEqual([entry.path, entry.type, entry.mode & 0o777], ['/a', 'directory', 0o750]);
    assert.equal((await volume.makeDir('/x/y/z', { force: true })).path, '/x/y/z');
    await end(bed, volume);
  },
  'volume.getInfo': async (bed) => {
    const volume = await make(bed);
    await volume.writeFile('/file', '123');
    const { name, type, size, mtime } = await volume.getInfo('/file');
    assert.deepEqual([name, type, size], ['file', 'file', 3]);
    assert.ok(Math.abs(mtime.getTime() - Date.now()) < 60_000);
    await end(bed, volume);
  },
  'volume.exists': async (bed) => {
    const volume = await make(bed);
    await volume.writeFile('/file', '123');
    assert.deepEqual([await volume.exists('/file'), await volume.exists('/no')], [true, false]);
    await end(bed, volume);
  },
  'volume.updateMetadata': async (bed) => {
    const volume = await make(bed);
    await volume.writeFile('/file', '123');
    const entry = await volume.updateMetadata('/file', { mode: 0o600, uid: 1000, gid: 1000 });
    assert.deepEqual([entry.mode & 0o777, entry.uid, entry.gid], [0o600, 1000, 1000]);
    await end(bed, volume);
  },
  'volume.remove': async (bed) => {
    const volume = await make(bed);
    await volume.makeDir('/dir');
    await volume.writeFile('/dir/file', '123');
    await volume.remove('/dir');
    assert.equal(await volume.exists('/dir/file'), false);
    await assert.rejects(volume.remove('/dir'), VolumePathNotFoundError);
    await end(bed, volume);
  },
};

const make = ({ connection }: Bed) => Volume.create(fresh('vol'), connection);

async function end({ connection }: Bed, volume: Volume): Promise<void> {
  assert.equal(await Volume.destroy(volume.volumeId, connection), true);
}
