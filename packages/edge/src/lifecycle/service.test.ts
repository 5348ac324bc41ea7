import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { verifyChain } from '@vivarium/core';
import type { Sandbox } from '@vivarium/protocol';
import { SandboxCreate, VivError } from '@vivarium/protocol';
import type { CellOptions } from '../cell/cell.ts';
import { FakeEdge } from '../fakes/fake-edge.ts';

let fake: FakeEdge;
before(async () => {
  fake = await FakeEdge.open({ sandboxes: 200 });
});
after(() => fake.close());

const state = (id: string) => fake.edge.sandboxes.get(id).state;
const settle = () => fake.clock.advance(0);

test('a sandbox is made, runs and ends, and gives everything back', async () => {
  const held = fake.images.held;
  const made = await fake.create({ labels: { job: 'a' }, env: { A: '1' } });
  assert.equal(made.state, 'running');
  assert.ok(made.token);
  assert.equal(fake.images.held, held + 1);
  const killed = await fake.edge.sandboxes.kill(made.id);
  assert.deepEqual([killed.state, killed.endReason], ['ended', 'killed']);
  assert.equal(fake.driver.cells.has(made.id), false);
  assert.equal(fake.images.held, held);
  assert.equal((await fake.edge.sandboxes.kill(made.id)).state, 'ended', 'killing twice is fine');
  const records = await fake.edge.sandboxes.logs(made.id, -1, 100);
  assert.deepEqual(
    records.map((record) => record.data.state ?? record.type),
    ['sandbox', 'running', 'ending', 'ended'],
  );
  verifyChain(records);
  await assert.rejects(fake.run(made.id, ['true']), { code: 'sandbox_dead', message: /killed/ });
});

test('what fails in a create leaves nothing and is told', async () => {
  for (const step of ['prepare', 'start', 'connect'] as const) {
    const held = fake.images.held;
    const cells = fake.driver.cells.size;
    fake.driver.onStep = async (at) => {
      if (at === step) throw new VivError('node_full', `no room at ${step}`);
    };
    await assert.rejects(fake.create(), { code: 'node_full', message: `no room at ${step}` });
    fake.driver.onStep = async () => {};
    assert.equal(fake.driver.cells.size, cells, step);
    assert.equal(fake.images.held, held, step);
    const [newest] = fake.edge.sandboxes.list({}, { limit: 1 }).items;
    assert.deepEqual(
      [newest!.state, newest!.endReason, newest!.error],
      ['failed', 'create_failed', `no room at ${step}`],
    );
  }
});

test('a guest that is lost while its sandbox can not be made is nobody’s end', async () => {
  const lost = new VivError('sandbox_lost', 'PID 1 is gone');
  let tellLater = () => {};
  fake.driver.onStep = async (at, sandbox) => {
    if (at !== 'connect') return;
    const open = async ({ onLost }: CellOptions): Promise<never> => {
      tellLater = () => onLost(lost);
      throw lost;
    };
    Object.assign(fake.driver.guest(sandbox), { open });
  };
  await assert.rejects(fake.create(), { code: 'sandbox_lost' });
  fake.driver.onStep = async () => {};
  tellLater();
  // A failure that nobody takes care of would fail this test.
  for (let turn = 0; turn < 5; turn++) await settle();
  const [newest] = fake.edge.sandboxes.list({}, { limit: 1 }).items;
  assert.deepEqual([newest!.state, newest!.endReason], ['failed', 'create_failed']);
});

test('an unknown image, kind or lease is refused before anything is written', async () => {
  const before = (await fake.edge.info.node()).sandboxes.createdTotal;
  await assert.rejects(fake.create({ image: 'no/such@1' }), { code: 'image_not_found' });
  await assert.rejects(fake.create({ kind: 'vm' }), { code: 'unsupported', message: /only: container/ });
  await assert.rejects(fake.create({ lease: 'x'.repeat(20) }), { code: 'lease_not_found' });
  assert.equal((await fake.edge.info.node()).sandboxes.createdTotal, before);
});

test('a sandbox can be killed at every step of its making', async () => {
  for (const step of ['prepare', 'start', 'connect'] as const) {
    let go = () => {};
    let id = '';
    fake.driver.onStep = (at, sandbox) => {
      if (at !== step) return Promise.resolve();
      id = sandbox;
      return new Promise<void>((resolve) => {
        go = resolve;
      });
    };
    const creating = fake.create();
    creating.catch(() => {});
    while (!id) await settle();
    const killing = fake.edge.sandboxes.kill(id);
    go();
    assert.equal((await killing).state, 'ended');
    await assert.rejects(creating, { code: 'sandbox_dead' });
    assert.equal(fake.driver.cells.has(id), false, step);
    fake.driver.onStep = async () => {};
  }
});

test('two creates with one key make one sandbox, also while the first is under way', async () => {
  const key = { key: 'k1', requestHash: 'h' };
  const [a, b] = await Promise.all([fake.create({}, key), fake.create({}, key)]);
  assert.equal(a.id, b.id);
  assert.equal((await fake.create({}, key)).id, a.id);
  await assert.rejects(fake.create({}, { key: 'k1', requestHash: 'other' }), { code: 'idempotency_mismatch' });
});

test('a key whose create failed can be used again', async () => {
  fake.driver.onStep = async () => {
    throw new VivError('node_full', 'full');
  };
  await assert.rejects(fake.create({}, { key: 'k2', requestHash: 'h' }), { code: 'node_full' });
  fake.driver.onStep = async () => {};
  assert.equal((await fake.create({}, { key: 'k2', requestHash: 'h' })).state, 'running');
});

test('a key’s quota counts live sandboxes only', async () => {
  const owner = { keyId: 'quota', maxSandboxes: 1 };
  const request = { image: 'base/test@1' };
  const { SandboxCreate } = await import('@vivarium/protocol');
  const first = await fake.edge.sandboxes.create(SandboxCreate.parse(request), owner);
  await assert.rejects(fake.edge.sandboxes.create(SandboxCreate.parse(request), owner), {
    code: 'quota_exceeded',
    message: /maximum is 1/,
  });
  await fake.edge.sandboxes.kill(first.id);
  await fake.edge.sandboxes.create(SandboxCreate.parse(request), owner);
});

test('a paused sandbox refuses work, and its commands do not time out', async () => {
  const { id } = await fake.create();
  const running = await fake.start(id, ['wait'], {}, { timeoutMs: 10_000 });
  await fake.clock.advance(6000);
  assert.equal((await fake.edge.sandboxes.pause(id)).state, 'paused');
  assert.equal(fake.driver.cells.get(id)!.paused, true);
  await assert.rejects(fake.run(id, ['true']), { code: 'sandbox_paused' });
  await fake.clock.advance(60_000);
  assert.equal((await fake.edge.sandboxes.resume(id)).state, 'running');
  await fake.clock.advance(3000);
  assert.equal(running.exec.state, 'running');
  await fake.clock.advance(2000);
  assert.deepEqual((await running.done).outcome, { type: 'timeout' });
});

test('it ends at its TTL, and later when the TTL is changed', async () => {
  const a = await fake.create({ ttlS: 100 });
  const b = await fake.create({ ttlS: 100 });
  fake.edge.sandboxes.update(b.id, { ttlS: 500 });
  await fake.clock.advance(101_000);
  assert.deepEqual([state(a.id), fake.edge.sandboxes.get(a.id).endReason, state(b.id)], ['ended', 'ttl', 'running']);
  await fake.clock.advance(400_000);
  assert.equal(state(b.id), 'ended');
});

test('it ends when idle; a running command, a touch and a finished command each start the time anew', async () => {
  const { id } = await fake.create({ idleTimeoutS: 60 });
  await fake.clock.advance(50_000);
  fake.edge.sandboxes.touch(id);
  await fake.clock.advance(50_000);
  assert.equal(state(id), 'running');
  const stream = await fake.start(id, ['wait']);
  await fake.clock.advance(600_000);
  assert.equal(state(id), 'running');
  await fake.edge.execs.cancel(id, stream.exec.id);
  await fake.clock.advance(59_000);
  assert.equal(state(id), 'running');
  await fake.clock.advance(62_000);
  assert.deepEqual([state(id), fake.edge.sandboxes.get(id).endReason], ['ended', 'idle']);
});

test('with onTimeout pause it is frozen instead, its clock stopped', async () => {
  const { id } = await fake.create({ ttlS: 50, onTimeout: 'pause' });
  await fake.clock.advance(51_000);
  assert.equal(state(id), 'paused');
  await fake.clock.advance(10_000_000);
  assert.deepEqual([state(id), fake.edge.sandboxes.get(id).expiresAt], ['paused', null]);
  assert.ok((await fake.edge.sandboxes.resume(id)).expiresAt);
  await fake.edge.sandboxes.kill(id);
});

test('a guest that dies takes its commands with it, as lost, never as theirs', async () => {
  const { id } = await fake.create();
  const stream = await fake.start(id, ['wait']);
  fake.driver.cells.get(id)!.die('exit status 1');
  const exec = await stream.done;
  assert.deepEqual(exec.outcome, { type: 'sandbox_lost' });
  const ended = await fake.edge.sandboxes.wait(id, ['ended'], 1000);
  assert.deepEqual([ended.endReason, ended.error], ['exited', 'exit status 1']);
});

test('commands of a killed sandbox are canceled, with the output they had', async () => {
  const { id } = await fake.create();
  const pending = fake.run(id, ['wait']);
  await settle();
  [...fake.driver.guest(id).processes.values()][0]!.print('so far');
  await fake.edge.sandboxes.kill(id);
  const result = await pending;
  assert.deepEqual(result.outcome, { type: 'canceled' });
  assert.equal(Buffer.from(result.stdoutB64, 'base64').toString(), 'so far');
  assert.equal((await fake.edge.execs.get(id, result.id)).message, 'its sandbox was ended (killed)');
});

test('events and wait tell of changes; lists filter by label and state and page newest first', async () => {
  const stop = new AbortController();
  const seen: string[] = [];
  const watching = (async () => {
    for await (const { state: now } of fake.edge.sandboxes.events({ label: 'team=x' }, stop.signal)) seen.push(now);
  })();
  await settle();
  const made: Sandbox[] = [];
  for (let i = 0; i < 5; i++) made.push(await fake.create({ labels: { team: 'x' } }));
  await fake.create({ labels: { team: 'y' } });
  await settle();
  stop.abort();
  await watching;
  assert.deepEqual(seen, Array(5).fill('running'));
  const first = fake.edge.sandboxes.list({ labels: { team: 'x' } }, { limit: 3 });
  const rest = fake.edge.sandboxes.list({ labels: { team: 'x' } }, { limit: 3, cursor: first.nextCursor! });
  assert.deepEqual(
    [...first.items, ...rest.items].map(({ id }) => id),
    made.map(({ id }) => id).reverse(),
  );
  assert.equal(rest.nextCursor, null);
  assert.equal(fake.edge.sandboxes.list({ labels: { team: 'x' }, states: ['ended'] }, { limit: 10 }).items.length, 0);
  assert.equal((await fake.edge.sandboxes.wait(made[0]!.id, ['paused'], 0).then(async (now) => now)).state, 'running');
});

test('following a journal gives what is there, then what comes, then its end', async () => {
  const { id } = await fake.create();
  const seqs: number[] = [];
  const following = (async () => {
    for await (const record of fake.edge.sandboxes.followLogs(id, 0, new AbortController().signal))
      seqs.push(record.seq);
  })();
  await settle();
  await fake.run(id, ['true']);
  await fake.edge.sandboxes.kill(id);
  await following;
  assert.deepEqual(seqs, [1, 2, 3, 4, 5]);
});

test('forks are sandboxes of their own that start from the snapshot', async () => {
  const { id } = await fake.create({ labels: { a: '1' } });
  const forks = await fake.edge.sandboxes.fork(
    id,
    { count: 3, labels: { b: '2' } },
    { keyId: 'k', maxSandboxes: null },
  );
  assert.equal(new Set(forks.map((fork) => fork.id)).size, 3);
  assert.deepEqual(forks[0]!.labels, { b: '2' });
  assert.equal(fake.driver.cells.get(id)!.paused, false, 'it runs again');
});

test('a fork call with the same idempotency key gets the first forks, also while they are being made', async () => {
  const { id } = await fake.create();
  const owner = { keyId: 'k', maxSandboxes: null };
  const fork = () => fake.edge.sandboxes.fork(id, { count: 2 }, owner, { key: 'once', requestHash: 'h' });
  const [first, second] = await Promise.all([fork(), fork()]);
  const third = await fork();
  const ids = (forks: { id: string }[]) => forks.map((each) => each.id);
  assert.deepEqual(ids(second!), ids(first!));
  assert.deepEqual(ids(third), ids(first!));
});

test('ended sandboxes are forgotten when there are too many', async () => {
  const small = await FakeEdge.open({ keepEnded: 2 });
  const ids: string[] = [];
  for (let i = 0; i < 4; i++) {
    ids.push((await small.create()).id);
    await small.edge.sandboxes.kill(ids[i]!);
  }
  await small.restart();
  for (let i = 0; i < 100 && readdirSync(join(small.stateDir, 'sandboxes')).length > 2; i++)
    await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(readdirSync(join(small.stateDir, 'sandboxes')).sort(), ids.slice(2));
  assert.throws(() => small.edge.sandboxes.get(ids[0]!), { code: 'sandbox_not_found' });
  await small.close();
});

test('a node without room refuses by name', async () => {
  const full = await FakeEdge.open({ sandboxes: 1 });
  await full.create();
  await assert.rejects(full.create(), { code: 'node_full', message: /maximum is 1/ });
  await full.close();
  const disk = await FakeEdge.open({ minFreeDiskBytes: Number.MAX_SAFE_INTEGER });
  await assert.rejects(disk.create(), { code: 'node_disk_full', message: /state directory/ });
  await disk.close();
  const queue = await FakeEdge.open({ createConcurrency: 1, createQueue: 1 });
  let go = () => {};
  queue.driver.onStep = () =>
    new Promise<void>((resolve) => {
      go = resolve;
    });
  const pending = [queue.create(), queue.create()];
  await assert.rejects(queue.create(), { code: 'too_many_requests', message: /creates are already waiting/ });
  queue.driver.onStep = async () => {};
  await queue.clock.advance(0);
  go();
  await Promise.all(pending);
  queue.edge.drain();
  await assert.rejects(queue.create(), { code: 'shutting_down' });
  await queue.close();
});

test('lists and events can be narrowed to what one key made', async () => {
  const own = await FakeEdge.open();
  const make = (keyId: string) =>
    own.edge.sandboxes.create(SandboxCreate.parse({ image: 'base/test@1' }), { keyId, maxSandboxes: null });
  const a = await make('a');
  const b = await make('b');
  const list = (filter: { owner?: string; states?: ['running'] }) =>
    own.edge.sandboxes.list(filter, { limit: 10 }).items.map(({ id }) => id);
  assert.deepEqual([list({ owner: 'a' }), list({ owner: 'b', states: ['running'] })], [[a.id], [b.id]]);
  assert.deepEqual([list({ owner: 'c' }), list({})], [[], [b.id, a.id]]);
  assert.equal(own.edge.sandboxes.owner(a.id), 'a');
  const stop = new AbortController();
  const told = own.edge.sandboxes.events({ owner: 'b' }, stop.signal)[Symbol.asyncIterator]();
  const first = told.next();
  await own.edge.sandboxes.kill(a.id);
  await own.edge.sandboxes.kill(b.id);
  assert.equal((await first).value.id, b.id);
  stop.abort();
  await own.close();
});

test('a wall clock that is set ends no sandbox, times out no command and makes no duration wrong', async () => {
  const own = await FakeEdge.open();
  const { id } = await own.create({ ttlS: 100, idleTimeoutS: 50 });
  for (const byMs of [3_600_000, -7_200_000]) {
    const running = await own.start(id, ['wait'], {}, { timeoutMs: 5000 });
    await own.clock.advance(1000);
    own.clock.setWall(byMs);
    await own.clock.advance(1000);
    own.driver.guest(id).process(running.exec.id).exit('exited', 0);
    const { outcome, durationMs } = await running.done;
    assert.deepEqual([outcome, durationMs], [{ type: 'exited', code: 0 }, 2000]);
  }
  assert.equal(own.edge.sandboxes.get(id).state, 'running');
  await own.clock.advance(49_000);
  assert.equal(own.edge.sandboxes.get(id).state, 'running');
  await own.clock.advance(1000);
  assert.equal(own.edge.sandboxes.get(id).endReason, 'idle');
  await own.close();
});
