import './testing/private-mounts.ts';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import type { ImageStore } from './store.ts';
import { chunked, tarOf } from './testing/archives.ts';
import { mountOverlay, umount } from './testing/mount.ts';
import { finish, never, type Place, place } from './testing/place.ts';
import { getXattr, listXattrs, setXattr } from './tree/xattr.ts';

const SHIFT = 0x40000000;

async function baseImage(at: Place, store: ImageStore): Promise<string> {
  const tree = at.make('base');
  mkdirSync(join(tree, 'dir/sub'), { recursive: true });
  for (const name of ['dir/a', 'dir/sub/b', 'gone', 'kept']) writeFileSync(join(tree, name), `base ${name}\n`);
  await finish(store.importTar({ name: 'base@1', config: { env: { A: '1' } } }, chunked(tarOf(tree)), never()));
  const { layers } = await store.acquire('base@1');
  return layers[0]!.path;
}

/** Everything beneath, as `path type contents-or-target`. */
function listing(root: string): string[] {
  return (readdirSync(root, { recursive: true }) as string[]).sort().map((name) => {
    const stat = lstatSync(join(root, name));
    return `${name} ${stat.isFile() ? readFileSync(join(root, name), 'utf8').trim() : stat.isDirectory() ? '/' : '?'}`;
  });
}

test('a commit of what an overlay wrote shows the same tree from the new image', async (t) => {
  const at = place(t);
  const store = await at.open();
  const lower = await baseImage(at, store);
  const [upper, work, merged] = [at.make('upper'), at.make('work'), at.make('merged')];
  mountOverlay([lower], merged, { upper, work });
  rmSync(join(merged, 'gone'));
  rmSync(join(merged, 'dir'), { recursive: true });
  mkdirSync(join(merged, 'dir'));
  writeFileSync(join(merged, 'dir/new'), 'new\n');
  writeFileSync(join(merged, 'kept'), 'changed\n');
  renameSync(join(merged, 'kept'), join(merged, 'moved'));
  const expected = listing(merged);
  umount(merged);
  assert.deepEqual(expected, ['dir /', 'dir/new new', 'moved changed']);

  const { image } = await store.commit({
    name: 'next@1',
    parent: 'base@1',
    upperDir: upper,
    idShift: 0,
    labels: { by: 'me' },
    createdBy: 'snapshot',
  });
  assert.equal(image.parent, 'base@1');
  assert.equal(image.layers.length, 2);
  assert.deepEqual(image.config, { env: { A: '1' }, labels: { by: 'me' } });
  const { layers } = await store.acquire('next@1');
  mountOverlay(
    layers.map(({ path }) => path),
    merged,
  );
  assert.deepEqual(listing(merged), expected);
  assert.deepEqual(
    readdirSync(join(layers[1]!.path, 'dir')),
    ['a', 'new', 'sub'],
    'whiteouts rather than an opaque directory',
  );
  assert.deepEqual(listXattrs(Buffer.from(join(layers[1]!.path, 'dir'))), []);
  assert.deepEqual(listXattrs(Buffer.from(layers[1]!.path)), []);
  assert.deepEqual(listXattrs(Buffer.from(join(layers[1]!.path, 'moved'))), []);
});

test('ids, capabilities and ACLs are shifted back to what the sandbox saw; modes, times and links stay', async (t) => {
  const at = place(t);
  const store = await at.open();
  await baseImage(at, store);
  const upper = at.make('upper');
  chownSync(upper, SHIFT, SHIFT);
  const file = (name: string, uid: number, mode: number) => {
    const path = join(upper, name);
    writeFileSync(path, name);
    chownSync(path, SHIFT + uid, SHIFT + uid);
    chmodSync(path, mode);
    return path;
  };
  file('mine', 1000, 0o640);
  file('suid', 0, 0o6755);
  linkSync(join(upper, 'mine'), join(upper, 'linked'));
  symlinkSync('nowhere', join(upper, 'symlink'));
  lchownSync(join(upper, 'symlink'), SHIFT + 5, SHIFT + 6);
  const stranger = file('stranger', 0, 0o600);
  chownSync(stranger, 12, 12);
  const capable = Buffer.from(file('capable', 0, 0o755));
  const capabilities = Buffer.alloc(24);
  capabilities.writeUInt32LE(0x03000001, 0);
  capabilities.writeUInt32LE(1 << 10, 4);
  capabilities.writeUInt32LE(SHIFT, 20);
  setXattr(capable, 'security.capability', capabilities);
  const listed = Buffer.from(file('listed', 0, 0o644));
  setXattr(listed, 'system.posix_acl_access', aclFor(SHIFT + 33));
  setXattr(listed, 'user.note', Buffer.from([0, 255, 10]));
  setXattr(listed, 'trusted.overlay.origin', Buffer.from('x'));
  const odd = Buffer.concat([Buffer.from(`${upper}/`), Buffer.from([0xff, 0x0a, 0x20, 0xc3])]);
  writeFileSync(odd, 'odd');
  lchownSync(odd, SHIFT, SHIFT);
  execFileSync('touch', ['-d', '2001-02-03 04:05:06.123456789', join(upper, 'mine')]);
  const before = lstatSync(join(upper, 'mine'), { bigint: true });

  await store.commit({ name: 'next@1', parent: 'base@1', upperDir: upper, idShift: SHIFT, createdBy: 'snapshot' });
  const root = (await store.acquire('next@1')).layers[1]!.path;
  const owner = (name: string) => [lstatSync(join(root, name)).uid, lstatSync(join(root, name)).gid];
  assert.deepEqual(owner(''), [0, 0]);
  assert.deepEqual(owner('mine'), [1000, 1000]);
  assert.deepEqual(owner('symlink'), [5, 6]);
  assert.deepEqual(owner('stranger'), [65534, 65534]);
  assert.equal(statSync(join(root, 'suid')).mode & 0o7777, 0o6755);
  assert.equal(statSync(join(root, 'mine')).mode & 0o7777, 0o640);
  assert.equal(statSync(join(root, 'mine')).ino, statSync(join(root, 'linked')).ino);
  assert.equal(lstatSync(join(root, 'mine'), { bigint: true }).mtimeNs, before.mtimeNs);
  const inImage = (name: string) => Buffer.from(join(root, name));
  const stored = getXattr(inImage('capable'), 'security.capability')!;
  assert.equal(stored.readUInt32LE(0), 0x02000001);
  assert.equal(stored.length, 20);
  assert.equal(stored.readUInt32LE(4), 1 << 10);
  assert.deepEqual(getXattr(inImage('listed'), 'user.note'), Buffer.from([0, 255, 10]));
  assert.equal(getXattr(inImage('listed'), 'trusted.overlay.origin'), null);
  assert.equal(getXattr(inImage('listed'), 'system.posix_acl_access')!.readUInt32LE(4 + 8 + 4), 33);
  assert.equal(readFileSync(Buffer.concat([Buffer.from(`${root}/`), odd.subarray(upper.length + 1)]), 'utf8'), 'odd');
  assert.equal(lstatSync(join(upper, 'mine')).uid, SHIFT + 1000, 'the sandbox keeps its own');
});

/** user::rw-, user:ID:r--, group::r--, mask::r--, other::r-- in the form of linux/posix_acl_xattr.h. */
function aclFor(id: number): Buffer {
  const none = 0xffffffff;
  const entries = [
    [1, 6, none],
    [2, 4, id],
    [4, 4, none],
    [16, 4, none],
    [32, 4, none],
  ] as const;
  const value = Buffer.alloc(4 + 8 * entries.length);
  value.writeUInt32LE(2, 0);
  for (const [index, [tag, permissions, owner]] of entries.entries()) {
    value.writeUInt16LE(tag, 4 + 8 * index);
    value.writeUInt16LE(permissions, 6 + 8 * index);
    value.writeUInt32LE(owner, 8 + 8 * index);
  }
  return value;
}

test('the same changes under another id base give the same layer', async (t) => {
  const at = place(t);
  const store = await at.open();
  await baseImage(at, store);
  const digests = [SHIFT, SHIFT + 65_536 * 7].map(async (shift) => {
    const upper = at.make(`upper-${shift}`);
    writeFileSync(join(upper, 'file'), 'same');
    execFileSync('touch', ['-d', '@1000000000', join(upper, 'file'), upper]);
    chownSync(join(upper, 'file'), shift + 3, shift + 3);
    chownSync(upper, shift, shift);
    execFileSync('mknod', [join(upper, 'gone'), 'c', '0', '0']);
    chownSync(join(upper, 'gone'), shift, shift);
    execFileSync('touch', ['-d', '@1000000000', join(upper, 'gone'), upper]);
    const { image } = await store.commit({
      name: `c${shift}@1`,
      parent: 'base@1',
      upperDir: upper,
      idShift: shift,
      createdBy: 'test',
    });
    return image.layers[1]!.digest;
  });
  const [first, second] = await Promise.all(digests);
  assert.equal(second, first);
});

test('a commit onto an unknown parent, a name that exists, or past the layer limit is refused', async (t) => {
  const at = place(t);
  const store = await at.open();
  await baseImage(at, store);
  const upper = at.make('upper');
  writeFileSync(join(upper, 'file'), 'x');
  const commit = (name: string, parent: string) =>
    store.commit({ name, parent, upperDir: upper, idShift: 0, createdBy: 'test' });
  const fails = (expected: string) => (error: unknown) => error instanceof VivError && error.code === expected;
  await assert.rejects(commit('x@1', 'nothing@1'), fails('image_not_found'));
  await assert.rejects(commit('base@1', 'base@1'), fails('image_exists'));
  await assert.rejects(commit('Bad Name', 'base@1'), fails('invalid_argument'));
});

test('device nodes other than whiteouts do not get into a layer', async (t) => {
  const at = place(t);
  const store = await at.open();
  await baseImage(at, store);
  const upper = at.make('upper');
  execFileSync('mknod', [join(upper, 'null'), 'c', '1', '3']);
  execFileSync('mknod', [join(upper, 'disk'), 'b', '8', '0']);
  execFileSync('mknod', [join(upper, 'gone'), 'c', '0', '0']);
  execFileSync('mkfifo', [join(upper, 'fifo')]);
  await store.commit({ name: 'next@1', parent: 'base@1', upperDir: upper, idShift: 0, createdBy: 'test' });
  const root = (await store.acquire('next@1')).layers[1]!.path;
  assert.deepEqual(readdirSync(root).sort(), ['fifo', 'gone']);
});
