import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { after, before, beforeEach, test } from 'node:test';
import { FLAG, list, OP, operate, pour, read, refusal, request, stat, TAG, write } from './files.ts';
import { Guest, kill, type Link, until } from './guest.ts';
import { parseEntries, T, type TlvItem, tlv } from './wire.ts';

const EPERM = 1;
const ENOENT = 2;
const ENXIO = 6;
const EACCES = 13;
const EEXIST = 17;
const EXDEV = 18;
const ENOTDIR = 20;
const EISDIR = 21;
const EINVAL = 22;
const ENOTEMPTY = 39;
const ECHILD = 10;

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

test('stat tells of every type, and follows a link only where asked', async () => {
  writeFileSync(`${dir}/file`, 'hello', { mode: 0o640 });
  chownSync(`${dir}/file`, 11, 12);
  symlinkSync('file', `${dir}/link`);
  execFileSync('mkfifo', [`${dir}/fifo`]);
  const file = await stat(link, `${dir}/file`);
  assert.deepEqual([file.type, file.mode, file.uid, file.gid, file.size], [1, 0o640, 11, 12, 5]);
  assert.equal(file.mtimeNs, lstatSync(`${dir}/file`, { bigint: true }).mtimeNs);
  const entry = await stat(link, `${dir}/link`);
  assert.deepEqual([entry.type, String(entry.name), String(entry.link)], [3, 'link', 'file']);
  assert.equal((await stat(link, `${dir}/link`, [[TAG.flags, FLAG.follow]])).type, 1);
  assert.equal((await stat(link, `${dir}/fifo`)).type, 4);
  assert.equal((await stat(link, '/dev/null')).type, 6);
  assert.equal((await stat(link, guest.socketPath)).type, 5);
  assert.equal((await stat(link, '/')).type, 2);
  assert.equal(await refusal(link, OP.stat, `${dir}/nothing`), ENOENT);
  assert.equal(await refusal(link, OP.stat, `${dir}/file/below`), ENOTDIR);
});

test('names with spaces, newlines and bytes that are not UTF-8 work everywhere', async () => {
  const name = Buffer.from([0x20, 0x0a, 0xff, 0xc3, 0x28, 0x22, 0x5c, 0x2a]);
  const path = Buffer.concat([Buffer.from(`${dir}/`), name]);
  await write(link, path, Buffer.from('odd'));
  assert.equal(String(await read(link, path)), 'odd');
  assert.deepEqual(
    (await list(link, dir)).map((entry) => entry.name),
    [name],
  );
  assert.deepEqual((await stat(link, path)).name, name);
  await operate(link, OP.rename, path, [[TAG.path2, Buffer.concat([path, Buffer.from('2')])]]);
  await operate(link, OP.remove, Buffer.concat([path, Buffer.from('2')]));
  assert.equal(readdirSync(dir).length, 0);
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

test('read gives ranges, large files whole, and only regular files', async () => {
  const content = Buffer.alloc(5_000_000, '0123456789');
  writeFileSync(`${dir}/big`, content);
  execFileSync('mkfifo', [`${dir}/fifo`]);
  assert.ok((await read(link, `${dir}/big`)).equals(content));
  assert.equal(
    String(
      await read(link, `${dir}/big`, [
        [TAG.offset, 12n],
        [TAG.length, 5n],
      ]),
    ),
    '23456',
  );
  assert.equal((await read(link, `${dir}/big`, [[TAG.offset, 9_000_000n]])).length, 0);
  assert.equal((await read(link, `${dir}/big`, [[TAG.length, 0n]])).length, 0);
  assert.match(String(await read(link, '/proc/self/status')), /^Name:/);
  assert.equal(await refusal(link, OP.read, dir), EISDIR);
  assert.equal(await refusal(link, OP.read, `${dir}/fifo`), ENXIO);
  assert.equal(await refusal(link, OP.read, '/dev/zero'), ENXIO);
  assert.equal(await refusal(link, OP.read, `${dir}/none`), ENOENT);
});

test('permissions are those of the user', async () => {
  writeFileSync(`${dir}/secret`, 'x', { mode: 0o600 });
  assert.equal(await refusal(link, OP.read, `${dir}/secret`, [[TAG.user, 'nobody']]), EACCES);
  assert.equal(await refusal(link, OP.write, `${dir}/mine`, [[TAG.user, 'nobody']]), EACCES);
  chmodSync(dir, 0o777);
  const entry = await write(link, `${dir}/sub/mine`, Buffer.from('x'), [
    [TAG.user, 'nobody'],
    [TAG.flags, FLAG.parents],
  ]);
  assert.equal(entry.uid, 65_534);
  assert.equal(statSync(`${dir}/sub`).uid, 65_534);
  const nobody: TlvItem = [TAG.user, 'nobody'];
  await write(link, `${dir}/sub/mine`, Buffer.from('again'), [nobody, [TAG.flags, FLAG.atomic]]);
  await operate(link, OP.chmod, `${dir}/sub/mine`, [nobody, [TAG.mode, 0o600]]);
  await operate(link, OP.utimes, `${dir}/sub/mine`, [nobody, [TAG.mtime, 0n]]);
  assert.deepEqual(
    [readFileSync(`${dir}/sub/mine`, 'utf8'), statSync(`${dir}/sub/mine`).mode & 0o777],
    ['again', 0o600],
  );
  assert.equal(await refusal(link, OP.chmod, `${dir}/secret`, [nobody, [TAG.mode, 0o666]]), EPERM);
  assert.equal(await refusal(link, OP.chown, `${dir}/sub/mine`, [nobody, [TAG.uid, 0]]), EPERM);
});

test('write truncates, appends, writes at an offset, refuses what is there', async () => {
  const path = `${dir}/file`;
  await write(link, path, Buffer.from('a long beginning'));
  assert.equal(statSync(path).mode & 0o777, 0o644);
  await write(link, path, Buffer.from('short'));
  assert.equal(readFileSync(path, 'utf8'), 'short');
  await write(link, path, Buffer.from('+more'), [[TAG.flags, FLAG.append]]);
  await write(link, path, Buffer.from('XX'), [
    [TAG.flags, FLAG.atOffset],
    [TAG.offset, 1n],
  ]);
  assert.equal(readFileSync(path, 'utf8'), 'sXXrt+more');
  for (const flags of [FLAG.exclusive, FLAG.exclusive | FLAG.atomic])
    assert.equal(await refusal(link, OP.write, path, [[TAG.flags, flags]]), EEXIST);
  await write(link, `${dir}/new`, Buffer.from('n'), [
    [TAG.flags, FLAG.exclusive | FLAG.atomic | FLAG.fsync],
    [TAG.mode, 0o4751],
  ]);
  assert.equal(statSync(`${dir}/new`).mode & 0o7777, 0o4751);
  assert.equal(await refusal(link, OP.write, `${dir}/no/where`), ENOENT);
  assert.equal(await refusal(link, OP.write, dir), EISDIR);
});

test('an atomic write keeps mode and owner, follows a link, and is never seen half done', async () => {
  const path = `${dir}/file`;
  writeFileSync(path, 'old', { mode: 0o640 });
  chownSync(path, 21, 22);
  symlinkSync('file', `${dir}/link`);
  const id = request(link, OP.write, `${dir}/link`, [[TAG.flags, FLAG.atomic]]);
  link.data(id, 0, 'new');
  await link.ping();
  assert.equal(readFileSync(path, 'utf8'), 'old');
  link.eof(id, 3);
  await link.take(id, T.OK);
  const after = statSync(path);
  assert.deepEqual([readFileSync(path, 'utf8'), after.mode & 0o777, after.uid, after.gid], ['new', 0o640, 21, 22]);
  assert.ok(lstatSync(`${dir}/link`).isSymbolicLink());
});

test('CANCEL of an atomic write leaves nothing', async () => {
  for (const place of [dir, '/dev/shm']) {
    const path = `${place}/viv-canceled`;
    const before = readdirSync(place).length;
    const id = request(link, OP.write, path, [[TAG.flags, FLAG.atomic]]);
    link.data(id, 0, Buffer.alloc(50_000));
    await link.ping();
    link.send(T.CANCEL, id);
    await until(() => guest.children().size === 0, 'the worker is gone');
    assert.equal(readdirSync(place).length, before);
    assert.ok(!existsSync(path));
  }
});

test('a full file system fails the write and leaves nothing', async () => {
  const id = request(link, OP.write, '/dev/full', []);
  assert.equal((await link.takeFail(id)).errno, ENXIO);
  const small = `${dir}/small`;
  mkdirSync(small);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]);
  try {
    const full = request(link, OP.write, `${small}/file`, [[TAG.flags, FLAG.atomic]]);
    await pour(link, full, Buffer.alloc(3_000_000));
    assert.equal((await link.takeFail(full)).errno, 28);
    await until(() => readdirSync(small).length === 0, 'nothing is left');
  } finally {
    await until(() => guest.children().size === 0, 'no worker is left');
    execFileSync('umount', [small]);
  }
});

test('owners are given by number and by name', async () => {
  await write(link, `${dir}/file`, Buffer.from('x'), [[TAG.owner, 'nobody']]);
  assert.equal(statSync(`${dir}/file`).uid, 65_534);
  await operate(link, OP.chown, `${dir}/file`, [[TAG.uid, 5]]);
  await operate(link, OP.chown, `${dir}/file`, [[TAG.owner, 'root:tty']]);
  assert.deepEqual([statSync(`${dir}/file`).uid, statSync(`${dir}/file`).gid], [0, 5]);
});

test('mkdir makes parents where asked, and says what is in the way', async () => {
  await operate(link, OP.mkdir, `${dir}/one`, [[TAG.mode, 0o1777]]);
  assert.equal(statSync(`${dir}/one`).mode & 0o7777, 0o1777);
  assert.equal(await refusal(link, OP.mkdir, `${dir}/one`), EEXIST);
  assert.equal(await refusal(link, OP.mkdir, `${dir}/x/y`), ENOENT);
  await operate(link, OP.mkdir, `${dir}/x/y/z/`, [[TAG.flags, FLAG.parents]]);
  await operate(link, OP.mkdir, `${dir}/x/y/z`, [[TAG.flags, FLAG.parents]]);
  writeFileSync(`${dir}/file`, '');
  assert.equal(await refusal(link, OP.mkdir, `${dir}/file`, [[TAG.flags, FLAG.parents]]), EEXIST);
  assert.equal(await refusal(link, OP.mkdir, `${dir}/file/x`, [[TAG.flags, FLAG.parents]]), ENOTDIR);
});

test('rename replaces, or refuses to', async () => {
  writeFileSync(`${dir}/a`, 'a');
  writeFileSync(`${dir}/b`, 'b');
  const refuse = [
    [TAG.path2, `${dir}/b`],
    [TAG.flags, FLAG.exclusive],
  ] as const;
  assert.equal(await refusal(link, OP.rename, `${dir}/a`, [...refuse]), EEXIST);
  await operate(link, OP.rename, `${dir}/a`, [
    [TAG.path2, `${dir}/deep/er/c`],
    [TAG.flags, FLAG.parents],
  ]);
  await operate(link, OP.rename, `${dir}/deep/er/c`, [[TAG.path2, `${dir}/b`]]);
  assert.equal(readFileSync(`${dir}/b`, 'utf8'), 'a');
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

test('links, times, truncation and file system sizes', async () => {
  writeFileSync(`${dir}/file`, 'content');
  await operate(link, OP.symlink, `${dir}/sub/soft`, [
    [TAG.path2, '../any where'],
    [TAG.flags, FLAG.parents],
  ]);
  assert.equal(readlinkSync(`${dir}/sub/soft`), '../any where');
  await operate(link, OP.link, `${dir}/hard`, [[TAG.path2, `${dir}/file`]]);
  assert.equal(statSync(`${dir}/hard`).nlink, 2);
  await operate(link, OP.utimes, `${dir}/file`, [[TAG.mtime, 1_234_567_890_123_456_789n]]);
  assert.equal(statSync(`${dir}/file`, { bigint: true }).mtimeNs, 1_234_567_890_123_456_789n);
  await operate(link, OP.utimes, `${dir}/file`, [[TAG.mtime, -500_000_000n]]);
  assert.equal((await stat(link, `${dir}/file`)).mtimeNs, -500_000_000n);
  await operate(link, OP.truncate, `${dir}/file`, [[TAG.length, 3n]]);
  assert.equal(readFileSync(`${dir}/file`, 'utf8'), 'con');
  const sizes = (await operate(link, OP.statfs, dir)).get(3);
  assert.ok(sizes && sizes.length === 40 && sizes.readBigUInt64LE(8) > 0n);
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

test('relative paths and ~ begin at the home of the user', async () => {
  const name = `viv-test-${process.pid}`;
  await write(link, name, Buffer.from('home'));
  try {
    assert.equal(String(await read(link, `~/${name}`)), 'home');
    assert.equal(String(await read(link, `/root/${name}`)), 'home');
    assert.equal((await stat(link, '~')).type, 2);
  } finally {
    await operate(link, OP.remove, name);
  }
});

test('a worker killed from inside fails its stream', async () => {
  const id = request(link, OP.write, `${dir}/file`, []);
  await until(() => guest.children().size === 1, 'the worker is there');
  for (const pid of guest.children().keys()) kill(pid);
  const { errno, stage } = await link.takeFail(id);
  assert.deepEqual([errno, stage], [ECHILD, 13]);
});

test('a worker stopped from inside is gone soon after CANCEL', async () => {
  const id = request(link, OP.write, `${dir}/file`, []);
  await until(() => guest.children().size === 1, 'the worker is there');
  for (const pid of guest.children().keys()) kill(pid, 'SIGSTOP');
  link.send(T.CANCEL, id);
  await until(() => guest.children().size === 0, 'the worker is gone');
});

test('bad requests are refused', async () => {
  linkSync(guest.socketPath, `${dir}/s`);
  assert.equal(await refusal(link, 99, dir), EINVAL);
  assert.equal(await refusal(link, OP.stat, dir, [[TAG.flags, FLAG.recursive]]), EINVAL);
  assert.equal(await refusal(link, OP.rename, dir), EINVAL);
  assert.equal(await refusal(link, OP.write, dir, [[TAG.flags, FLAG.atomic | FLAG.append]]), EINVAL);
  const id = link.id();
  link.send(T.FILE, id, tlv([[1, 1]]));
  assert.equal((await link.takeFail(id)).stage, 1);
});
