import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { VivError } from '@vivarium/protocol';
import { type ArchiveEntry, archiveOf, chunked, tarOf } from '../testing/archives.ts';
import { getXattr, setXattr } from '../tree/xattr.ts';
import { archiveSource } from './archive.ts';

/** Unpacks into `root` of a new directory, beside which `outside` holds a file no archive may touch. */
async function unpack(context: TestContext, bytes: Buffer, chunkBytes?: number) {
  const directory = mkdtempSync(join(tmpdir(), 'viv-archive-'));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const root = join(directory, 'root');
  const outside = join(directory, 'outside');
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(join(outside, 'precious'), 'precious');
  const source = archiveSource(chunked(bytes, chunkBytes));
  const done = source.fill(root, directory, () => {}, new AbortController().signal);
  const error = await done.then(
    () => null,
    (thrown: VivError) => thrown,
  );
  assert.equal(readFileSync(join(outside, 'precious'), 'utf8'), 'precious');
  assert.deepEqual(readdirSync(outside), ['precious']);
  return { root, error };
}

const HOSTILE: [name: string, entries: ArchiveEntry[], code: string][] = [
  ['a name with ..', [{ name: '../outside/precious', body: 'bad' }], 'path_escapes'],
  ['a name with .. in the middle', [{ name: 'a/../../outside/new', body: 'bad' }], 'path_escapes'],
  [
    'a file through an absolute symbolic link',
    [
      { name: 'l', type: 'symlink', linkname: '/tmp' },
      { name: 'l/viv-escaped', body: 'bad' },
    ],
    'invalid_image',
  ],
  [
    'a file through a relative symbolic link',
    [
      { name: 'l', type: 'symlink', linkname: '../outside' },
      { name: 'l/precious', body: 'bad' },
    ],
    'invalid_image',
  ],
  [
    'a file through two symbolic links',
    [
      { name: 'up', type: 'symlink', linkname: '..' },
      { name: 'l', type: 'symlink', linkname: 'up/outside' },
      { name: 'l/precious', body: 'bad' },
    ],
    'invalid_image',
  ],
  ['a hard link to a file outside', [{ name: 'h', type: 'link', linkname: '../outside/precious' }], 'invalid_image'],
];

for (const [name, entries, code] of HOSTILE) {
  test(`an archive with ${name} is refused and writes nothing outside`, async (t) => {
    const { error } = await unpack(t, await archiveOf(entries));
    assert.equal(error?.code, code, String(error));
    assert.equal(existsSync('/tmp/viv-escaped'), false);
  });
}

test('a file with the name of an earlier symbolic link does not go through it', async (t) => {
  const entries: ArchiveEntry[] = [
    { name: 'l', type: 'symlink', linkname: '../outside/precious' },
    { name: 'l', body: 'mine' },
  ];
  const { error } = await unpack(t, await archiveOf(entries));
  assert.equal(error, null);
});

test('absolute names land below the root', async (t) => {
  const { root, error } = await unpack(t, await archiveOf([{ name: '/etc/viv-absolute', body: 'x' }]));
  assert.equal(error, null);
  assert.equal(readFileSync(join(root, 'etc/viv-absolute'), 'utf8'), 'x');
});

test('owners, modes, times, links, long and odd names and attributes are kept', async (t) => {
  const tree = mkdtempSync(join(tmpdir(), 'viv-tree-'));
  t.after(() => rmSync(tree, { recursive: true, force: true }));
  const long = `${'d'.repeat(120)}/${'e'.repeat(200)}/${'f'.repeat(200)}`;
  const odd = Buffer.concat([Buffer.from(`${tree}/`), Buffer.from([0xff, 0x0a, 0x22, 0x5c, 0xc3])]);
  mkdirSync(join(tree, long), { recursive: true });
  for (const path of [join(tree, long, 'x'), odd, join(tree, 'größe ☃'), join(tree, 'suid'), join(tree, 'ping')])
    writeFileSync(path, 'y');
  chownSync(join(tree, 'suid'), 70_000, 80_000);
  chmodSync(join(tree, 'suid'), 0o6711);
  linkSync(join(tree, 'suid'), join(tree, 'suid2'));
  symlinkSync('/absolute/target', join(tree, 'absolute'));
  const capabilities = Buffer.from('0100000200040000000000000000000000000000', 'hex');
  setXattr(Buffer.from(join(tree, 'ping')), 'security.capability', capabilities);
  setXattr(Buffer.from(join(tree, 'ping')), 'user.binary', Buffer.from([0, 1, 255, 10]));
  utimesSync(join(tree, 'ping'), 1_234_567, 1_234_567);
  const { root, error } = await unpack(t, tarOf(tree), 777);
  assert.equal(error, null);
  const suid = statSync(join(root, 'suid'));
  assert.deepEqual([suid.uid, suid.gid, suid.mode & 0o7777], [70_000, 80_000, 0o6711]);
  assert.equal(statSync(join(root, 'suid2')).ino, suid.ino);
  assert.equal(readlinkSync(join(root, 'absolute')), '/absolute/target');
  assert.equal(readFileSync(join(root, long, 'x'), 'utf8'), 'y');
  assert.equal(readFileSync(join(root, 'größe ☃'), 'utf8'), 'y');
  assert.equal(readFileSync(Buffer.concat([Buffer.from(root), odd.subarray(tree.length)]), 'utf8'), 'y');
  assert.equal(statSync(join(root, 'ping')).mtimeMs, 1_234_567_000);
  assert.deepEqual(getXattr(Buffer.from(join(root, 'ping')), 'security.capability'), capabilities);
  assert.deepEqual(getXattr(Buffer.from(join(root, 'ping')), 'user.binary'), Buffer.from([0, 1, 255, 10]));
});

test('gzip and zstd archives are unpacked; cut or damaged ones are refused', async (t) => {
  const plain = await archiveOf([{ name: 'f', body: Buffer.alloc(50_000, 'f') }]);
  for (const pack of [gzipSync, zstdCompressSync]) {
    const packed = pack(plain);
    const { root, error } = await unpack(t, packed, 10);
    assert.equal(error, null);
    assert.equal(statSync(join(root, 'f')).size, 50_000);
    assert.equal((await unpack(t, packed.subarray(0, packed.length - 12))).error?.code, 'invalid_image');
  }
});

test('other compressions, other files and an archive of nothing are refused by name', async (t) => {
  const xz = Buffer.from('fd377a585a0000', 'hex');
  assert.match((await unpack(t, xz)).error!.message, /compressed with xz/);
  assert.match((await unpack(t, Buffer.alloc(5000, 'text '))).error!.message, /does not look like a tar archive/);
  assert.match((await unpack(t, await archiveOf([]))).error!.message, /empty/);
});
