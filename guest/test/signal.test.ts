import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { alive, Guest, type Link, until } from './guest.ts';
import { T, u32 } from './wire.ts';

let guest: Guest;
let link: Link;

before(async () => {
  guest = new Guest();
  link = await guest.open();
});
after(() => guest.close());

function signal(id: number, number: number, scope: number): void {
  link.send(T.SIGNAL, id, Buffer.concat([u32(number), u32(scope)]));
}

async function pidFrom(file: string): Promise<number> {
  await until(() => existsSync(file) && readFileSync(file, 'utf8').endsWith('\n'), file);
  return Number(readFileSync(file, 'utf8'));
}

test('a signal reaches the process alone, or its group', async () => {
  const child = `${guest.dir}/child`;
  const script = `sh -c 'echo $$ > ${child}; exec sleep 30' & trap 'exit 7' TERM; wait; wait`;
  const one = await link.spawn(['sh', '-c', script]);
  const inner = await pidFrom(child);
  signal(one.id, 15, 0);
  assert.deepEqual(await link.exit(one.id), { kind: 0, code: 7 });
  assert.ok(alive(inner));
  signal(one.id, 9, 1);
  await until(() => !alive(inner), 'the group is gone, after its leader');
  link.send(T.RELEASE, one.id);
});

test('killtree finds a child that forked twice and left session, group and parent', async () => {
  const far = `${guest.dir}/far`;
  const near = `${guest.dir}/near`;
  const script = `setsid sh -c '(setsid sh -c "echo \\$\\$ > ${far}; exec sleep 60" &) ; exit' ; sh -c 'echo $$ > ${near}; exec sleep 60'`;
  const { id, pid } = await link.spawn(['sh', '-c', script]);
  const pids = [await pidFrom(far), await pidFrom(near), pid];
  assert.ok(pids.every(alive));
  link.send(T.KILLTREE, id);
  assert.deepEqual(await link.exit(id), { kind: 1, code: 9 });
  await until(() => !pids.some(alive), 'everything is gone');
  link.send(T.RELEASE, id);
});

test('killtree works when the command itself has ended, and leaves other commands alone', async () => {
  const far = `${guest.dir}/daemon`;
  const other = await link.spawn(['sleep', '60']);
  const { id } = await link.spawn(['sh', '-c', `setsid sh -c 'echo $$ > ${far}; exec sleep 60' >/dev/null 2>&1 &`]);
  const daemon = await pidFrom(far);
  await link.exit(id);
  assert.ok(alive(daemon));
  link.send(T.KILLTREE, id);
  await until(() => !alive(daemon), 'the daemon is gone');
  assert.ok(alive(other.pid));
  link.send(T.RELEASE, id);
  link.send(T.KILLTREE, other.id);
  await link.exit(other.id);
  link.send(T.RELEASE, other.id);
});

test('killtree stops a tree that keeps forking', async () => {
  // A fork bomb with a lid: every process has at most one living child, but is replaced all the time.
  const script = 'f() { (setsid sh -c "$0" "$0" & ) ; }; f; exit';
  const { id } = await link.spawn(['sh', '-c', 'while :; do (sleep 0.01 & (sleep 0.01 &)); done', script]);
  await link.take(id, T.OK);
  link.send(T.KILLTREE, id);
  assert.deepEqual(await link.exit(id), { kind: 1, code: 9 });
  await until(() => guest.children().size === 0, 'nothing is left');
  link.send(T.RELEASE, id);
});

test('CANCEL of a running command ends its tree and forgets it', async () => {
  const { id, pid } = await link.spawn(['sh', '-c', 'sleep 60']);
  link.send(T.CANCEL, id);
  await until(() => !alive(pid), 'it is gone');
  await link.ping();
  assert.ok(!link.frames.some((frame) => frame.stream === id && frame.type === T.EXITED));
});

test('a signal number that does not exist is ignored', async () => {
  const { id } = await link.spawn(['sleep', '60']);
  signal(id, 0, 0);
  signal(id, 65, 0);
  signal(id, 0xffffffff, 1);
  await link.ping();
  signal(id, 15, 1);
  assert.deepEqual(await link.exit(id), { kind: 1, code: 15 });
  link.send(T.RELEASE, id);
});
