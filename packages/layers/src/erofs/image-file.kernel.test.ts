import '../testing/private-mounts.ts';
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import { testMounter, umount } from '../testing/mount.ts';
import { getXattr } from '../tree/xattr.ts';
import { writeImage } from './image-file.ts';
import type { Inode } from './inode.ts';

const S_IFDIR = 0o040000;
const S_IFREG = 0o100000;
const S_IFLNK = 0o120000;
const RUNS = 60;

function directory(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'viv-erofs-'));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Writes the image, mounts it and looks at it. */
async function mounted<T>(at: string, root: Inode, look: (mount: string) => T): Promise<T> {
  const [file, mount] = [join(at, 'image'), join(at, 'mount')];
  rmSync(file, { force: true });
  mkdirSync(mount, { recursive: true });
  const { sizeBytes } = writeImage(root, file);
  assert.equal(lstatSync(file).size, sizeBytes);
  execFileSync('fsck.erofs', [file], { stdio: 'ignore' });
  await testMounter().mountErofs(file, mount);
  try {
    return look(mount);
  } finally {
    umount(mount);
  }
}

const metadata = fc.record({
  bits: fc.nat({ max: 0o7777 }),
  uid: fc.nat({ max: 0xfffffffe }),
  gid: fc.nat({ max: 0xfffffffe }),
  mtimeNs: fc.bigInt({ min: -(10n ** 18n), max: 4n * 10n ** 18n }),
  xattrs: fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    fc.nat({ max: 5000 }).map((length) => [{ name: 'user.note', value: Buffer.alloc(length, 7) }]),
  ),
});
const bytes = fc
  .record({ size: fc.oneof(fc.nat({ max: 9000 }), fc.constantFrom(0, 1, 4095, 4096, 4097, 8192)), fill: fc.nat(255) })
  .map(({ size, fill }) => Buffer.alloc(size, fill));
const fileName = fc
  .uint8Array({ minLength: 1, maxLength: 255 })
  .map((name) => Buffer.from(name).map((byte) => (byte === 0 || byte === 0x2f ? 0x2e : byte)))
  .filter((name) => !['.', '..'].includes(Buffer.from(name).toString('latin1')));

const { tree } = fc.letrec<{ tree: Inode; entry: Inode }>((tie) => ({
  entry: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.tuple(metadata, bytes).map(([meta, content]) => regular(meta, content)),
    fc.tuple(metadata, fc.integer({ min: 1, max: 4095 })).map(([{ bits: _, ...meta }, length]): Inode => {
      const target = Buffer.alloc(length, 'link/');
      return { ...meta, mode: S_IFLNK | 0o777, content: { type: 'symlink', target } };
    }),
    tie('tree'),
  ),
  tree: fc
    .tuple(
      metadata,
      fc.uniqueArray(fc.tuple(fileName, tie('entry')), { maxLength: 40, selector: ([name]) => String(name) }),
    )
    .map(([{ bits, ...meta }, entries]): Inode => {
      const sorted = entries.map(([name, inode]) => ({ name: Buffer.from(name), inode }));
      sorted.sort((a, b) => Buffer.compare(a.name, b.name));
      return { ...meta, mode: S_IFDIR | bits, content: { type: 'directory', entries: sorted } };
    }),
}));

function regular({ bits, ...meta }: Omit<Inode, 'mode' | 'content'> & { bits: number }, data: Buffer): Inode {
  const open = () => ({
    read: (buffer: Buffer, offset: number) => void data.copy(buffer.fill(0), 0, offset),
    close: () => {},
  });
  return { ...meta, mode: S_IFREG | bits, content: { type: 'file', size: data.length, open } };
}

/** The file system's view must be the tree's. */
function compare(path: Buffer, inode: Inode): void {
  const stat = lstatSync(path, { bigint: true });
  assert.equal(Number(stat.mode), inode.mode);
  assert.deepEqual([Number(stat.uid), Number(stat.gid), stat.mtimeNs], [inode.uid, inode.gid, inode.mtimeNs]);
  for (const { name, value } of inode.content.type === 'symlink' ? [] : inode.xattrs)
    assert.deepEqual(getXattr(path, name), value);
  const { content } = inode;
  if (content.type === 'symlink') assert.deepEqual(readlinkSync(path, { encoding: 'buffer' }), content.target);
  if (content.type === 'file') {
    const expected = Buffer.alloc(content.size);
    content.open().read(expected, 0);
    assert.ok(readFileSync(path).equals(expected));
  }
  if (content.type !== 'directory') return;
  const names = readdirSync(path, { encoding: 'buffer' }).sort(Buffer.compare);
  assert.deepEqual(
    names,
    content.entries.map(({ name }) => name),
  );
  for (const { name, inode: child } of content.entries) compare(Buffer.concat([path, Buffer.from('/'), name]), child);
}

test('the kernel reads back any tree as it was written, and the checker of erofs-utils finds no fault', async (t) => {
  const at = directory(t);
  await fc.assert(
    fc.asyncProperty(tree, (root) => mounted(at, root, (mount) => compare(Buffer.from(mount), root))),
    { numRuns: RUNS },
  );
});

test('the same tree gives the same bytes, another tree others', async (t) => {
  const at = directory(t);
  const digest = (root: Inode, name: string) => writeImage(root, join(at, name)).digest;
  const [one, other] = fc.sample(tree, { numRuns: 2, seed: 7 }) as [Inode, Inode];
  assert.equal(digest(one, 'a'), digest(copyOf(one), 'b'));
  assert.notEqual(digest(one, 'c'), digest(other, 'd'));
});

test('a directory of ten thousand names is found name by name, hard links are one file', async (t) => {
  const meta = { uid: 0, gid: 0, mtimeNs: 0n, xattrs: [] };
  const shared = regular({ ...meta, bits: 0o644 }, Buffer.from('shared'));
  const entries = Array.from({ length: 10_000 }, (_, i) => ({
    name: Buffer.from(`f${String(i).padStart(6, '0')}`),
    inode: shared,
  }));
  const root: Inode = { ...meta, mode: S_IFDIR | 0o755, content: { type: 'directory', entries } };
  await mounted(directory(t), root, (mount) => {
    assert.equal(readdirSync(mount).length, 10_000);
    for (const i of [0, 4999, 9999]) {
      const stat = lstatSync(join(mount, `f${String(i).padStart(6, '0')}`));
      assert.deepEqual([stat.nlink, stat.size], [10_000, 6]);
    }
    assert.throws(() => lstatSync(join(mount, 'f010000')), { code: 'ENOENT' });
  });
});

test('an image is refused before anything of it is written', (t) => {
  const at = directory(t);
  const root: Inode = {
    mode: S_IFDIR | 0o755,
    uid: 0,
    gid: 0,
    mtimeNs: 0n,
    xattrs: [],
    content: { type: 'directory', entries: [] },
  };
  const refuse = (bytes: number) => {
    throw new Error(`${bytes} is too much`);
  };
  assert.throws(() => writeImage(root, join(at, 'image'), refuse), /4096 is too much/);
  assert.deepEqual(readdirSync(at), []);
});

function copyOf(inode: Inode): Inode {
  const { content } = inode;
  if (content.type !== 'directory') return { ...inode };
  const entries = content.entries.map(({ name, inode: child }) => ({ name, inode: copyOf(child) }));
  return { ...inode, content: { type: 'directory', entries } };
}
