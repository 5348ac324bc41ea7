import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { after, before, beforeEach, test } from 'node:test';
import { FLAG, list, OP, operate, refusal, stat, TAG, write } from './files.ts';
import { Guest, type Link } from './guest.ts';
import { parseEntries, type TlvItem } from './wire.ts';

const { EINVAL } = constants.errno;
const PREFIX = 'user.e2b.';

let guest: Guest;
let link: Link;
let dir: string;
let turn = 0;

before(async () => {
  guest = new Guest();
  link = await guest.open();
});
after(() => guest.close());
beforeEach(() => {
  dir = `${guest.dir}/${turn++}`;
  mkdirSync(dir);
  chmodSync(guest.dir, 0o755);
});

const noted = (...pairs: string[]): TlvItem[] => pairs.map((pair) => [TAG.metadata, pair] as const);
const atomic: TlvItem = [TAG.flags, FLAG.atomic];

/** Sets or reads an attribute as a program of the sandbox would. */
function python(code: string, ...argv: string[]): string {
  return execFileSync('python3', ['-c', `import os, sys\n${code}`, ...argv], { encoding: 'utf8' }).trim();
}
const setAttribute = (path: string, name: string, value: string) =>
  python('os.setxattr(sys.argv[1], sys.argv[2], sys.argv[3].encode())', path, name, value);

test('what a write notes is in its entry, in stat, in a list and after a rename', async () => {
  const path = `${dir}/file`;
  const written = await write(link, path, Buffer.from('x'), [atomic, ...noted('author=me', 'empty=', 'odd=a=b')]);
  const expected = ['author=me', 'empty=', 'odd=a=b'];
  assert.deepEqual(written.metadata.toSorted(), expected);
  assert.equal(python('print(os.getxattr(sys.argv[1], sys.argv[2]).decode())', path, `${PREFIX}author`), 'me');
  assert.deepEqual((await stat(link, path)).metadata.toSorted(), expected);
  const [listed] = await list(link, dir, [[TAG.flags, FLAG.withMetadata]]);
  assert.deepEqual(listed?.metadata.toSorted(), expected);
  assert.deepEqual((await list(link, dir))[0]?.metadata, [], 'lists tell it only where asked');
  const moved = await operate(link, OP.rename, path, [[TAG.path2, `${path}2`]]);
  assert.deepEqual(parseEntries(moved.get(1)!)[0]?.metadata.toSorted(), expected);
});

test('an atomic write begins anew, an append adds', async () => {
  const path = `${dir}/file`;
  await write(link, path, Buffer.from('1'), [atomic, ...noted('a=1')]);
  const appended = await write(link, path, Buffer.from('2'), [[TAG.flags, FLAG.append], ...noted('b=2')]);
  assert.deepEqual(appended.metadata.toSorted(), ['a=1', 'b=2']);
  assert.deepEqual((await write(link, path, Buffer.from('3'), [atomic])).metadata, []);
});

test('attributes that programs set are told where they have the prefix, of directories too', async () => {
  writeFileSync(`${dir}/file`, '');
  setAttribute(`${dir}/file`, `${PREFIX}tag`, 'ä');
  setAttribute(`${dir}/file`, 'user.other', 'no');
  setAttribute(dir, `${PREFIX}kind`, 'dir');
  symlinkSync('file', `${dir}/link`);
  assert.deepEqual((await stat(link, dir)).metadata, ['kind=dir']);
  const entries = await list(link, dir, [[TAG.flags, FLAG.self | FLAG.withMetadata]]);
  const found = Object.fromEntries(entries.map(({ name, metadata }) => [name.toString(), metadata]));
  assert.deepEqual(found, { '.': ['kind=dir'], file: ['tag=ä'], link: [] });
});

test('a user sees no values of files it may not read', async () => {
  await write(link, `${dir}/file`, Buffer.from('x'), [...noted('a=1'), [TAG.mode, 0o600]]);
  assert.deepEqual((await stat(link, `${dir}/file`, [[TAG.user, 'nobody']])).metadata, []);
});

test('any number of attributes is read within the bounds', async () => {
  const path = `${dir}/file`;
  writeFileSync(path, '');
  // What a file system holds differs: as many as it takes.
  python(
    'try:\n for i in range(200): os.setxattr(sys.argv[1], "user.e2b.%s%d" % ("k" * 40, i), b"v" * 20)\nexcept OSError: pass',
    path,
  );
  const { metadata } = await stat(link, path);
  assert.ok(metadata.length > 10, `${metadata.length}`);
  assert.ok(metadata.every((pair) => /^k{40}\d+=v{20}$/.test(pair)));
});

test('items that are no pairs, or too long, and other operations with items are refused', async () => {
  const path = `${dir}/file`;
  for (const pair of ['', 'novalue', '=value', `${'k'.repeat(247)}=v`, `k=${'v'.repeat(4096)}`])
    assert.equal(await refusal(link, OP.write, path, noted(pair)), EINVAL, pair);
  const many = Array.from({ length: 5 }, (_, i) => `k${i}=${'v'.repeat(1000)}`);
  assert.equal(await refusal(link, OP.write, path, noted(...many)), EINVAL);
  assert.equal(await refusal(link, OP.stat, dir, noted('a=b')), EINVAL);
});

test('a file system without such attributes keeps the content', async () => {
  const entry = await write(link, '/proc/self/comm', Buffer.from('x'), noted('a=1'));
  assert.deepEqual(entry.metadata, []);
});
