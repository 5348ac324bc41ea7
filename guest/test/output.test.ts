import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pour } from './files.ts';
import { alive, Guest, kill, type Link, until } from './guest.ts';
import { T } from './wire.ts';

const WINDOW = 9;
const FLAGS = 5;
const STDIN = 2;

let guest: Guest;
let link: Link;

before(async () => {
  guest = new Guest();
  link = await guest.open();
});
after(() => guest.close());

function received(id: number, chan: number): number {
  return link.frames
    .filter((f) => f.stream === id && f.chan === chan && f.type === T.DATA)
    .reduce((sum, f) => sum + f.payload.length - 8, 0);
}

test('three megabytes arrive whole at a slow host', async () => {
  const { id } = await link.spawn(['sh', '-c', 'seq 1 450000']);
  const out = await link.collect(id, 1, { slowMs: 2 });
  const expected = Array.from({ length: 450_000 }, (_, i) => `${i + 1}\n`).join('');
  assert.equal(createHash('sha256').update(out).digest('hex'), createHash('sha256').update(expected).digest('hex'));
  await link.exit(id);
  link.send(T.RELEASE, id);
});

test('a window is never exceeded, and the writer waits', async () => {
  const { id, pid } = await link.spawn(['sh', '-c', 'yes'], [[WINDOW, 10_000]]);
  await until(() => received(id, 1) === 10_000, 'the whole window is used');
  await sleep(100);
  await link.ping();
  assert.equal(received(id, 1), 10_000);
  link.grant(id, 1, 4_000, 10_001);
  await until(() => received(id, 1) === 10_001, 'one byte more');
  link.grant(id, 1, 10_001, 300_000);
  await until(() => received(id, 1) === 300_000, 'a larger window');
  await link.ping();
  assert.equal(received(id, 1), 300_000);
  assert.ok(alive(pid));
  link.send(T.KILLTREE, id);
  await link.exit(id);
  link.send(T.RELEASE, id);
});

test('a background child that holds the pipe does not hold the command, and may write on', async () => {
  const done = `${guest.dir}/wrote`;
  const script = `echo before; (sleep 2; head -c 300000 /dev/zero; echo $? > ${done}) & echo pid $!`;
  const { id } = await link.spawn(['sh', '-c', script]);
  const out = String(await link.collect(id, 1));
  assert.match(out, /^before\npid \d+\n$/);
  assert.equal((await link.exit(id)).code, 0);
  assert.ok(!existsSync(done), 'the end of output came first');
  link.send(T.RELEASE, id);
  await until(() => existsSync(done), 'the child wrote 300 kB into a pipe that nobody keeps');
});

test('output that was in the pipe at the exit is delivered behind a full window', async () => {
  const { id } = await link.spawn(['sh', '-c', 'head -c 60000 /dev/zero; sleep 30 & exit 0'], [[WINDOW, 100]]);
  await link.exit(id);
  assert.equal((await link.collect(id, 1)).length, 60_000);
  link.send(T.KILLTREE, id);
  link.send(T.RELEASE, id);
});

test('both channels flow by themselves', async () => {
  const { id } = await link.spawn(['sh', '-c', 'head -c 500000 /dev/zero; echo done >&2']);
  link.grant(id, 1, 0, 600_000);
  const out = await link.collect(id, 1);
  const err = await link.collect(id, 2);
  assert.deepEqual([out.length, String(err)], [500_000, 'done\n']);
  await link.exit(id);
  link.send(T.RELEASE, id);
});

test('input and output of megabytes pass through a command at once', async () => {
  const { id } = await link.spawn(['cat'], [[FLAGS, STDIN]]);
  const bytes = Buffer.alloc(5_000_000, 'abcdefghijk');
  const [out] = await Promise.all([link.collect(id, 1), pour(link, id, bytes)]);
  assert.ok(out.equals(bytes));
  await link.exit(id);
  link.send(T.RELEASE, id);
});

test('a busy stream does not starve another', async () => {
  const busy = await link.spawn(['yes'], [[WINDOW, 4 << 20]]);
  const grants = setInterval(() => link.grant(busy.id, 1, received(busy.id, 1), received(busy.id, 1) + (4 << 20)), 5);
  try {
    const run = await link.run(['echo', 'here']);
    assert.equal(String(run.out), 'here\n');
  } finally {
    clearInterval(grants);
    link.send(T.KILLTREE, busy.id);
    await link.exit(busy.id);
    link.send(T.RELEASE, busy.id);
    link.frames.splice(0);
  }
});

test('an acknowledgement of what was never sent ends the connection', async () => {
  const own = new Guest();
  try {
    const bad = await own.open();
    const { id, pid } = await bad.spawn(['sleep', '30']);
    bad.grant(id, 1, 5, 100);
    await bad.closing();
    kill(pid);
  } finally {
    await own.close();
  }
});
