import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Guest, type Link, until } from './guest.ts';
import { T, type TlvItem, u32, u64 } from './wire.ts';

const STDIN = 2;
const MERGE = 4;
const WAIT = 8;
const ENV = 2;
const CWD = 3;
const USER = 4;
const FLAGS = 5;
const RLIMIT = 6;
const UMASK = 10;

let guest: Guest;
let link: Link;

before(async () => {
  guest = new Guest();
  link = await guest.open({
    config: [
      [6, 'FROM_CONFIG=yes'],
      [6, 'BOTH=config'],
    ],
  });
});
after(() => guest.close());

async function refused(
  argv: (string | Uint8Array)[],
  extra: TlvItem[] = [],
): Promise<{ errno: number; stage: number }> {
  const id = link.id();
  const { tlv } = await import('./wire.ts');
  link.send(T.SPAWN, id, tlv([...argv.map((arg): TlvItem => [1, arg]), ...extra]));
  const { errno, stage } = await link.takeFail(id);
  return { errno, stage };
}

test('a command gives its output, its errors and its exit code', async () => {
  const run = await link.sh('echo out; echo err >&2; exit 3');
  assert.deepEqual([run.kind, run.code, String(run.out), String(run.err)], [0, 3, 'out\n', 'err\n']);
});

test('death by a signal is told apart from an exit code', async () => {
  const run = await link.sh('kill -KILL $$');
  assert.deepEqual([run.kind, run.code], [1, 9]);
});

test('resource usage comes with the exit', async () => {
  const { id } = await link.spawn(['sh', '-c', 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done']);
  const exit = await link.take(id, T.EXITED);
  assert.equal(exit.payload.length, 32);
  assert.ok(exit.payload.readBigUInt64LE(8) + exit.payload.readBigUInt64LE(16) > 0n);
  assert.ok(exit.payload.readBigUInt64LE(24) > 100n);
  link.send(T.RELEASE, id);
});

test('arguments and output are bytes, not text', async () => {
  const odd = Buffer.from([0xff, 0xfe, 0x0a, 0x20, 0x80]);
  const run = await link.run(['printf', '%s', odd]);
  assert.deepEqual(run.out, odd);
});

test('the environment is CONFIG, then SPAWN over it, then what every program expects', async () => {
  const run = await link.run(
    ['env'],
    [
      [ENV, 'BOTH=spawn'],
      [ENV, 'MINE=1'],
    ],
  );
  const env = new Map(
    String(run.out)
      .trim()
      .split('\n')
      .map((line) => line.split('=') as [string, string]),
  );
  assert.equal(env.get('FROM_CONFIG'), 'yes');
  assert.equal(env.get('BOTH'), 'spawn');
  assert.equal(env.get('MINE'), '1');
  assert.deepEqual([env.get('HOME'), env.get('USER'), env.get('LOGNAME')], ['/root', 'root', 'root']);
  assert.equal(env.get('PATH'), '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin');
});

test('a command starts in its home, or where it is told', async () => {
  assert.equal(String((await link.run(['pwd'])).out), '/root\n');
  assert.equal(String((await link.run(['pwd'], [[CWD, '/usr']])).out), '/usr\n');
});

test('a relative directory is beneath the home', async () => {
  assert.equal(String((await link.run(['pwd'], [[CWD, '.']])).out), '/root\n');
  assert.equal(String((await link.run(['pwd'], [[CWD, '../usr/bin']])).out), '/usr/bin\n');
  assert.deepEqual(await refused(['true'], [[CWD, 'nonesuch']]), { errno: 2, stage: 5 });
});

test('a command becomes the user with its groups', async () => {
  assert.equal(String((await link.sh('id -un; id -u', [[USER, 'nobody']])).out), 'nobody\n65534\n');
  assert.equal(String((await link.sh('id -u; id -g; id -G', [[USER, '1234:5678']])).out), '1234\n5678\n5678\n');
});

test('what can not be started says why and at which stage', async () => {
  const script = `${guest.dir}/plain`;
  writeFileSync(script, 'x', { mode: 0o644 });
  assert.deepEqual(await refused(['nonesuch-program']), { errno: 2, stage: 6 });
  assert.deepEqual(await refused([script]), { errno: 13, stage: 6 });
  assert.deepEqual(await refused(['']), { errno: 2, stage: 6 });
  assert.deepEqual(await refused(['true'], [[CWD, '/nonesuch']]), { errno: 2, stage: 5 });
  assert.deepEqual(await refused(['true'], [[USER, 'nonesuch']]), { errno: 2, stage: 4 });
  assert.deepEqual(await refused([]), { errno: 22, stage: 1 });
  assert.deepEqual(await refused(['true'], [[99, 'unknown tag']]), { errno: 22, stage: 1 });
  assert.deepEqual(await refused([Buffer.from('a\0b')]), { errno: 22, stage: 1 });
});

test('a script without #! is run by sh, and PATH is that of the command', async () => {
  mkdirSync(`${guest.dir}/bin`);
  writeFileSync(`${guest.dir}/bin/mine`, 'echo "mine $1"\n');
  chmodSync(`${guest.dir}/bin/mine`, 0o755);
  const run = await link.run(['mine', 'arg'], [[ENV, `PATH=/nonesuch:${guest.dir}/bin`]]);
  assert.equal(String(run.out), 'mine arg\n');
});

test('stderr joins stdout where asked, in order', async () => {
  const { id } = await link.spawn(['sh', '-c', 'echo a; echo b >&2; echo c'], [[FLAGS, MERGE]]);
  assert.equal(String(await link.collect(id, 1)), 'a\nb\nc\n');
  await link.exit(id);
  link.send(T.RELEASE, id);
});

test('limits and umask hold, and a limit above the hard one is cut to it', async () => {
  const limit = (resource: number, value: number | bigint): TlvItem => [
    RLIMIT,
    Buffer.concat([u32(resource), u64(value), u64(value)]),
  ];
  const run = await link.sh('ulimit -n; umask; ulimit -c', [limit(7, 99), limit(4, 0), [UMASK, 0o77]]);
  assert.equal(String(run.out), '99\n0077\n0\n');
  const above = await link.sh('ulimit -n', [limit(7, 2n ** 63n)]);
  assert.equal(String(above.out), String((await link.sh('ulimit -Hn')).out));
});

test('a command inherits no descriptor, no blocked signal and no ignored one', async () => {
  const run = await link.sh('ls /proc/self/fd; grep -E "Sig(Blk|Ign)" /proc/self/status');
  const text = String(run.out);
  assert.match(text, /^0\n1\n2\n3\nSigBlk/); // 3 is the directory that ls has open
  assert.match(text, /SigBlk:\s0{16}\nSigIgn:\s0{16}/);
});

test('a command has its own session', async () => {
  const { id, pid } = await link.spawn(['sh', '-c', 'cut -d" " -f5,6 /proc/$$/stat']);
  assert.equal(String(await link.collect(id, 1)), `${pid} ${pid}\n`);
  await link.exit(id);
  link.send(T.RELEASE, id);
});

test('a child that waits does nothing before START', async () => {
  const mark = `${guest.dir}/started`;
  const { id } = await link.spawn(['touch', mark], [[FLAGS, WAIT]]);
  await link.ping();
  assert.equal(link.frames.filter((frame) => frame.stream === id).length, 0);
  link.send(T.START, id);
  await link.take(id, T.OK);
  assert.equal((await link.exit(id)).code, 0);
  link.send(T.RELEASE, id);
});

test('CANCEL ends a waiting child and frees the id at once', async () => {
  const { id, pid } = await link.spawn(['true'], [[FLAGS, WAIT]]);
  link.send(T.CANCEL, id);
  await until(() => !guest.children().has(pid), 'the waiting child is gone');
  const { tlv } = await import('./wire.ts');
  link.send(T.SPAWN, id, tlv([[1, 'true']]));
  await link.take(id, T.SPAWNED);
  await link.exit(id);
  link.send(T.RELEASE, id);
});

test('stdin ends when the host says so, and is /dev/null without a stream', async () => {
  const { id } = await link.spawn(['cat'], [[FLAGS, STDIN]]);
  link.data(id, 0, 'some ');
  link.data(id, 5, 'words');
  link.eof(id, 10);
  assert.equal(String(await link.collect(id, 1)), 'some words');
  assert.equal((await link.exit(id)).code, 0);
  link.send(T.RELEASE, id);
  assert.equal((await link.run(['cat'])).out.length, 0);
});

test('stdin that nobody reads any more is discarded with unlimited credit', async () => {
  const { id } = await link.spawn(['sh', '-c', 'exec <&-; echo closed; sleep 30'], [[FLAGS, STDIN]]);
  const unlimited = await link.takeWhere(
    (f) => f.stream === id && f.type === T.WINDOW && f.payload.readBigUInt64LE(8) === 2n ** 64n - 1n,
    'unlimited credit',
  );
  assert.equal(unlimited.chan, 0);
  for (let at = 0; at < 4 << 20; at += 65_536) link.data(id, at, Buffer.alloc(65_536));
  link.eof(id, 4 << 20);
  await link.ping();
  link.send(T.KILLTREE, id);
  assert.deepEqual(await link.exit(id), { kind: 1, code: 9 });
  link.send(T.RELEASE, id);
});

test('a thousand commands leave no zombie and no descriptor', async () => {
  const descriptors = guest.openDescriptors();
  for (let batch = 0; batch < 20; batch++) {
    const runs = await Promise.all(Array.from({ length: 50 }, () => link.run(['true'])));
    assert.ok(runs.every((run) => run.code === 0));
  }
  await until(() => guest.children().size === 0, 'no child is left');
  await until(() => guest.openDescriptors() <= descriptors, 'no descriptor is left');
});

test('orphans are reaped', async () => {
  await link.sh('(sleep 0.05 &) ; for i in 1 2 3 4 5; do (true &) ; done');
  await until(() => guest.children().size === 0, 'no orphan is left');
});

test('an idle guest is small', { skip: process.env.VIV_INIT !== undefined }, async () => {
  await link.sh('head -c 3000000 /dev/zero');
  await until(() => guest.rssKiB() <= 300, 'memory goes back');
});
