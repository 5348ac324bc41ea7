import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { after, before, beforeEach, test } from 'node:test';
import { FLAG, list, OP, operate, read, refusal, request, TAG, write } from './files.ts';
import { Guest, type Link } from './guest.ts';
import { parseEntries, T } from './wire.ts';

const { ENOENT, EXDEV, ENOTDIR, EINVAL, ENOTEMPTY } = constants.errno;

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

test('list gives parents before children, to the depth asked for', async () => {
  mkdirSync(`${dir}/a/b/c`, { recursive: true });
  writeFileSync(`${dir}/a/file`, 'x');
  symlinkSync('..', `${dir}/a/up`);
  const names = async (depth: number, flags = 0): Promise<string[]> =>
    (
      await list(link, dir, [
        [TAG.depth, depth],
        [TAG.flags, flags],
      ])
    ).map((entry) => String(entry.name));
  assert.deepEqual(await names(1), ['a']);
  assert.deepEqual(await names(1, FLAG.self), ['.', 'a']);
  const all = await names(0);
  assert.deepEqual([...all].sort(), ['a', 'a/b', 'a/b/c', 'a/file', 'a/up']);
  assert.ok(all.indexOf('a') < all.indexOf('a/b') && all.indexOf('a/b') < all.indexOf('a/b/c'));
  assert.equal((await names(2)).length, 4);
  assert.equal(await refusal(link, OP.list, `${dir}/a/file`), ENOTDIR);
});

test('a large directory streams through a small window', async () => {
  for (let i = 0; i < 3000; i++) writeFileSync(`${dir}/${'n'.repeat(60)}${i}`, '');
  const id = request(link, OP.list, dir, [[TAG.window, 1000]]);
  const bytes = await link.collect(id, 1, { window: 5000 });
  await link.take(id, T.OK);
  assert.equal(parseEntries(bytes).length, 3000);
});

test('a recursive remove counts, and never follows a link', async () => {
  mkdirSync(`${dir}/tree/a/b`, { recursive: true });
  mkdirSync(`${dir}/outside`);
  writeFileSync(`${dir}/outside/precious`, '');
  symlinkSync(`${dir}/outside`, `${dir}/tree/a/link`);
  for (let i = 0; i < 10; i++) writeFileSync(`${dir}/tree/a/b/${i}`, '');
  assert.equal(await refusal(link, OP.remove, `${dir}/tree`), ENOTEMPTY);
  const result = await operate(link, OP.remove, `${dir}/tree`, [[TAG.flags, FLAG.recursive]]);
  assert.equal(result.get(2)?.readBigUInt64LE(0), 14n);
  assert.ok(existsSync(`${dir}/outside/precious`));
  symlinkSync(`${dir}/outside`, `${dir}/link`);
  await operate(link, OP.remove, `${dir}/link`, [[TAG.flags, FLAG.recursive]]);
  assert.ok(existsSync(`${dir}/outside/precious`));
  assert.equal(await refusal(link, OP.remove, `${dir}/tree`), ENOENT);
  const missing = await operate(link, OP.remove, `${dir}/tree/x/y`, [[TAG.flags, FLAG.missingOk]]);
  assert.equal(missing.get(2)?.readBigUInt64LE(0), 0n);
  assert.equal(await refusal(link, OP.remove, `${dir}/outside/..`, [[TAG.flags, FLAG.recursive]]), EINVAL);
});

test('a tree deeper than there are descriptors is removed', async () => {
  execFileSync('python3', [
    '-c',
    `import os\nos.chdir("${dir}")\nfor i in range(6000):\n os.mkdir("d"); os.chdir("d")`,
  ]);
  const result = await operate(link, OP.remove, `${dir}/d`, [[TAG.flags, FLAG.recursive]]);
  assert.equal(result.get(2)?.readBigUInt64LE(0), 6000n);
});

test('chmod and chown of a tree leave what links point to alone', async () => {
  mkdirSync(`${dir}/tree/sub`, { recursive: true });
  writeFileSync(`${dir}/outside`, '', { mode: 0o600 });
  writeFileSync(`${dir}/tree/sub/file`, '');
  symlinkSync('../outside', `${dir}/tree/link`);
  await operate(link, OP.chmod, `${dir}/tree`, [
    [TAG.mode, 0o750],
    [TAG.flags, FLAG.recursive],
  ]);
  await operate(link, OP.chown, `${dir}/tree`, [
    [TAG.uid, 7],
    [TAG.gid, 8],
    [TAG.flags, FLAG.recursive],
  ]);
  for (const path of ['tree', 'tree/sub', 'tree/sub/file']) {
    const now = statSync(`${dir}/${path}`);
    assert.deepEqual([now.mode & 0o777, now.uid, now.gid], [0o750, 7, 8]);
  }
  assert.equal(lstatSync(`${dir}/tree/link`).uid, 7);
  assert.deepEqual([statSync(`${dir}/outside`).mode & 0o777, statSync(`${dir}/outside`).uid], [0o600, 0]);
});

test('nothing beneath a base leads out of it', async () => {
  mkdirSync(`${dir}/base/in`, { recursive: true });
  writeFileSync(`${dir}/secret`, 'secret');
  writeFileSync(`${dir}/base/in/file`, 'inside');
  symlinkSync('../secret', `${dir}/base/up`);
  symlinkSync('/etc/passwd', `${dir}/base/absolute`);
  symlinkSync('..', `${dir}/base/parent`);
  symlinkSync('in/file', `${dir}/base/fine`);
  const base = [TAG.base, `${dir}/base`] as const;
  assert.equal(String(await read(link, 'in/file', [base])), 'inside');
  assert.equal(String(await read(link, 'fine', [base])), 'inside');
  assert.equal(String(await read(link, `${dir}/base/in/../in/file`, [base])), 'inside');
  for (const path of [
    'up',
    'absolute',
    'parent/secret',
    '../secret',
    '/etc/passwd',
    `${dir}/base/../secret`,
    `${dir}/base2`,
  ]) {
    assert.equal(await refusal(link, OP.read, path, [base]), EXDEV, path);
    assert.equal(await refusal(link, OP.truncate, path, [base, [TAG.length, 0n]]), EXDEV, path);
  }
  for (const path of ['up', 'parent/new', '../new'])
    for (const flags of [0, FLAG.atomic, FLAG.parents]) {
      const id = request(link, OP.write, path, [base, [TAG.flags, flags]]);
      assert.equal((await link.takeFail(id)).errno, EXDEV, `${path} ${flags}`);
    }
  for (const op of [OP.mkdir, OP.remove, OP.stat])
    assert.equal(await refusal(link, op, 'parent/secret', [base]), EXDEV);
  assert.equal(await refusal(link, OP.list, 'parent', [base]), EXDEV);
  assert.equal(await refusal(link, OP.rename, 'in/file', [base, [TAG.path2, '../taken']]), EXDEV);
  assert.equal(await refusal(link, OP.link, 'taken', [base, [TAG.path2, '../secret']]), EXDEV);
  assert.equal(readFileSync(`${dir}/secret`, 'utf8'), 'secret');
  await write(link, 'a/b/c', Buffer.from('x'), [base, [TAG.flags, FLAG.atomic | FLAG.parents]]);
  assert.ok(existsSync(`${dir}/base/a/b/c`));
});
