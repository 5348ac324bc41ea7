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
import { constants } from 'node:os';
import { after, before, beforeEach, test } from 'node:test';
import { FLAG, list, OP, operate, pour, read, refusal, request, stat, TAG, write } from './files.ts';
import { Guest, kill, type Link, until } from './guest.ts';
import { encodeFrame, T, type TlvItem, tlv } from './wire.ts';

const { EPERM, ENOENT, ENXIO, EACCES, EEXIST, ENOTDIR, EISDIR, EINVAL, ECHILD } = constants.errno;

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

test('megabytes arrive whole in a file, also appended and in frames of every size', async () => {
  const content = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => (i * 31 + (i >> 8)) & 255));
  await write(link, `${dir}/file`, content, [[TAG.flags, FLAG.atomic]]);
  assert.ok(readFileSync(`${dir}/file`).equals(content));
  await write(link, `${dir}/file`, content, [[TAG.flags, FLAG.append]]);
  assert.ok(readFileSync(`${dir}/file`).subarray(content.length).equals(content));
  const id = request(link, OP.write, `${dir}/odd`, []);
  let at = 0;
  for (const size of [1, 8_191, 1, 8_200, 20_000, 7, 9_000, 20_000]) {
    link.data(id, at, content.subarray(at, at + size));
    at += size;
    if (size === 7) await link.ping();
  }
  link.eof(id, at);
  await link.take(id, T.OK);
  assert.ok(readFileSync(`${dir}/odd`).equals(content.subarray(0, at)));
});

test('a worker that stands still holds up its own stream only, and then gets every byte in order', async () => {
  const content = Buffer.from(Array.from({ length: 4_000_000 }, (_, i) => (i * 37 + (i >> 8)) & 255));
  const id = request(link, OP.write, `${dir}/slow`, []);
  await until(() => guest.children().size === 1, 'the worker is there');
  const [pid] = guest.children().keys();
  kill(pid as number, 'SIGSTOP');
  const poured = pour(link, id, content);
  for (let round = 0; round < 20; round++) await link.ping();
  await write(link, `${dir}/other`, content);
  assert.ok(readFileSync(`${dir}/other`).equals(content));
  kill(pid as number, 'SIGCONT');
  await poured;
  await link.take(id, T.OK);
  assert.ok(readFileSync(`${dir}/slow`).equals(content));
});

test('a worker killed in the middle of a frame fails its stream, and the next frame is understood', async () => {
  const id = request(link, OP.write, `${dir}/file`, []);
  await until(() => guest.children().size === 1, 'the worker is there');
  const frame = encodeFrame(T.DATA, id, Buffer.concat([Buffer.alloc(8), Buffer.alloc(60_000, 'x')]));
  link.socket.write(frame.subarray(0, 30_000));
  await until(() => existsSync(`${dir}/file`) && statSync(`${dir}/file`).size > 0, 'a part is written');
  for (const pid of guest.children().keys()) kill(pid);
  assert.deepEqual(await link.takeFail(id).then(({ errno, stage }) => [errno, stage]), [ECHILD, 13]);
  link.socket.write(frame.subarray(30_000));
  await link.ping();
  await write(link, `${dir}/file`, Buffer.from('again'));
  assert.equal(readFileSync(`${dir}/file`, 'utf8'), 'again');
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
