import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import { FakeEdge } from '../fakes/fake-edge.ts';

let fake: FakeEdge;
beforeEach(async () => {
  fake = await FakeEdge.open();
});
afterEach(() => fake.close());

const owner = { keyId: 'k', maxSandboxes: null };
const view = (id: string) => {
  const { state, cold } = fake.edge.sandboxes.get(id);
  return [state, cold];
};
const sleepOn = (id: string) => fake.edge.sandboxes.pause(id, { memory: false });

test('paused without memory, its commands end as canceled with their output, and it starts anew with the same id and token', async () => {
  const { id, token } = await fake.create({ env: { A: '1' }, metadata: { user: 'ann' } });
  const { exec } = await fake.start(id, ['wait']);
  fake.driver.guest(id).process(exec.id).print('so far');
  const paused = await sleepOn(id);
  assert.deepEqual([paused.state, paused.cold, paused.expiresAt], ['paused', true, null]);
  const result = await fake.edge.execs.result(id, exec.id, 1000);
  assert.deepEqual(
    [result.outcome, Buffer.from(result.stdoutB64, 'base64').toString(), result.message],
    [{ type: 'canceled' }, 'so far', 'its sandbox was paused without its memory'],
  );
  await assert.rejects(fake.run(id, ['true']), { code: 'sandbox_paused' });
  for (let round = 0; round < 3; round++) {
    const again = await fake.edge.sandboxes.resume(id);
    assert.deepEqual([again.state, again.cold, again.metadata], ['running', false, { user: 'ann' }]);
    assert.equal(Date.parse(again.expiresAt!), fake.clock.now() + 3600_000);
    assert.equal((await fake.run(id, ['print', `${round}`])).exitCode, 0);
    await sleepOn(id);
  }
  assert.equal(fake.edge.sandboxes.token(id), token);
});

test('a command that was being started while it was paused without memory ends as canceled', async () => {
  const { id } = await fake.create();
  const running = fake.run(id, ['wait']);
  await sleepOn(id);
  assert.deepEqual((await running).outcome, { type: 'canceled' });
});

test('one that is frozen can give up its memory later; a second time changes nothing', async () => {
  const { id } = await fake.create();
  const { exec } = await fake.start(id, ['wait']);
  await fake.edge.sandboxes.pause(id);
  assert.deepEqual(view(id), ['paused', false]);
  await sleepOn(id);
  assert.deepEqual(view(id), ['paused', true]);
  assert.deepEqual((await fake.edge.execs.get(id, exec.id)).outcome, { type: 'canceled' });
  const states = async () =>
    (await fake.edge.sandboxes.logs(id, -1, 100)).filter(({ type }) => type === 'state').length;
  const before = await states();
  await sleepOn(id);
  await fake.edge.sandboxes.pause(id);
  assert.deepEqual([view(id), await states()], [['paused', true], before]);
  assert.equal((await fake.edge.sandboxes.resume(id)).state, 'running');
});

test('its end while it is paused so removes its files; the end of its former cell is not its own', async () => {
  const { id } = await fake.create();
  const handle = fake.driver.cells.get(id)!;
  await sleepOn(id);
  await fake.clock.advance(10_000);
  assert.deepEqual(view(id), ['paused', true]);
  await fake.edge.sandboxes.kill(id);
  assert.deepEqual([handle.destroyed, view(id)], [1, ['ended', false]]);
  const other = await fake.create();
  await sleepOn(other.id);
  await fake.edge.sandboxes.resume(other.id);
  fake.driver.cells.get(other.id)!.die('exit status 1');
  assert.equal((await fake.edge.sandboxes.wait(other.id, ['ended'], 1000)).endReason, 'exited');
});

test('forks and snapshots of one without memory start from its files', async () => {
  const { id } = await fake.create({ ttlS: 100 });
  await sleepOn(id);
  const forks = await fake.edge.sandboxes.fork(id, { count: 2, ttlS: 500, metadata: { a: '1' } }, owner);
  assert.deepEqual(view(id), ['paused', true]);
  for (const fork of forks) {
    assert.deepEqual([fork.state, fork.cold, fork.metadata], ['running', false, { a: '1' }]);
    assert.equal(Date.parse(fork.expiresAt!), fake.clock.now() + 500_000);
  }
});

test('a restart knows that it has no cell; the command that was cut off ended as canceled', async () => {
  const [cold, cooling, waking] = [await fake.create(), await fake.create(), await fake.create()];
  await sleepOn(cold.id);
  const { exec } = await fake.start(cooling.id, ['wait']);
  await sleepOn(waking.id);
  // The edge dies while one is being stopped and another is being booted.
  const stuck = () => new Promise<void>(() => {});
  fake.driver.onStep = stuck;
  void sleepOn(cooling.id).catch(() => {});
  void fake.edge.sandboxes.resume(waking.id).catch(() => {});
  await fake.clock.advance(20_000);
  assert.deepEqual(
    [view(cooling.id), view(waking.id)],
    [
      ['pausing', true],
      ['resuming', true],
    ],
  );
  fake.driver.onStep = async () => {};
  await fake.abandon();
  assert.deepEqual(fake.edge.adopted, { adopted: 3, lost: 0 });
  for (const { id } of [cold, cooling, waking]) {
    assert.deepEqual(view(id), ['paused', true]);
    assert.equal((await fake.edge.sandboxes.resume(id)).state, 'running');
    assert.equal((await fake.run(id, ['true'])).exitCode, 0);
  }
  assert.deepEqual((await fake.edge.execs.get(cooling.id, exec.id)).outcome, { type: 'canceled' });
});

test('when the new cell can’t be started it stays paused, and the next try works', async () => {
  const { id } = await fake.create();
  await sleepOn(id);
  for (const step of ['prepare', 'start', 'connect']) {
    fake.driver.onStep = async (now) => {
      if (now === step) throw new VivError('node_disk_full', `no room for ${step}`);
    };
    await assert.rejects(fake.edge.sandboxes.resume(id), { code: 'node_disk_full' });
    assert.deepEqual(view(id), ['paused', true]);
  }
  fake.driver.onStep = async () => {};
  assert.equal((await fake.edge.sandboxes.resume(id)).state, 'running');
});

test('killed while its new cell starts it ends, and nothing is left', async () => {
  const { id } = await fake.create();
  await sleepOn(id);
  const gate = Promise.withResolvers<void>();
  fake.driver.onStep = () => gate.promise;
  const resume = fake.edge.sandboxes.resume(id);
  const kill = fake.edge.sandboxes.kill(id);
  gate.resolve();
  await kill;
  await resume.catch(() => {});
  assert.deepEqual([view(id)[0], fake.driver.cells.size], ['ended', 0]);
});

test('a time-out pauses as pauseMemory says, and the clock stands still until it is resumed', async () => {
  const cold = await fake.create({ ttlS: 50, onTimeout: 'pause', pauseMemory: false });
  const frozen = await fake.create({ ttlS: 50, onTimeout: 'pause' });
  const idle = await fake.create({ idleTimeoutS: 20, onTimeout: 'pause', pauseMemory: false });
  await fake.clock.advance(51_000);
  assert.deepEqual(
    [view(cold.id), view(frozen.id), view(idle.id)],
    [
      ['paused', true],
      ['paused', false],
      ['paused', true],
    ],
  );
  await fake.clock.advance(10_000_000);
  const again = await fake.edge.sandboxes.resume(cold.id);
  assert.equal(Date.parse(again.expiresAt!), fake.clock.now() + 50_000);
  await fake.clock.advance(51_000);
  assert.deepEqual(view(cold.id), ['paused', true]);
});

test('a paused sandbox does not expire, unless it was asked to', async () => {
  const [still, runs] = [await fake.create({ ttlS: 50 }), await fake.create({ ttlS: 50 })];
  await fake.clock.advance(30_000);
  assert.equal((await fake.edge.sandboxes.pause(still.id)).expiresAt, null);
  assert.notEqual((await fake.edge.sandboxes.pause(runs.id, { expires: true })).expiresAt, null);
  await fake.clock.advance(30_000);
  assert.deepEqual([view(still.id)[0], view(runs.id)[0]], ['paused', 'ended']);
  await fake.clock.advance(1_000_000);
  await fake.edge.sandboxes.resume(still.id);
  await fake.clock.advance(49_000);
  assert.equal(view(still.id)[0], 'running');
  await fake.clock.advance(2000);
  assert.equal(view(still.id)[0], 'ended');
});

test('wake: at once when it runs, once for all that wait, and only where it was asked for', async () => {
  const [asked, not] = [await fake.create({ autoResume: true }), await fake.create()];
  assert.equal((await fake.edge.sandboxes.wake(not.id)).state, 'running');
  for (const memory of [true, false]) {
    await fake.edge.sandboxes.pause(asked.id, { memory });
    await fake.edge.sandboxes.pause(not.id, { memory });
    await assert.rejects(fake.edge.sandboxes.wake(not.id), { code: 'sandbox_paused' });
    const before = (await fake.edge.sandboxes.logs(asked.id, -1, 1000)).length;
    const woken = await Promise.all(Array.from({ length: 50 }, () => fake.edge.sandboxes.wake(asked.id)));
    assert.ok(woken.every(({ state }) => state === 'running'));
    const records = (await fake.edge.sandboxes.logs(asked.id, -1, 1000)).slice(before);
    assert.deepEqual(
      records.map(({ data }) => (data as { state: string }).state),
      ['resuming', 'running'],
    );
    await fake.edge.sandboxes.resume(not.id);
  }
  await fake.edge.sandboxes.kill(asked.id);
  await assert.rejects(fake.edge.sandboxes.wake(asked.id), { code: 'sandbox_dead' });
  await assert.rejects(fake.edge.sandboxes.wake('a'.repeat(20)), { code: 'sandbox_not_found' });
});

test('a command resumes a sandbox with autoResume, a repeated one that has run does not', async () => {
  const { id } = await fake.create({ autoResume: true });
  const idempotency = { key: 'once', requestHash: 'h' };
  const first = await fake.run(id, ['print', 'x'], {}, idempotency);
  await sleepOn(id);
  assert.equal((await fake.run(id, ['print', 'x'], {}, idempotency)).id, first.id);
  assert.deepEqual(view(id), ['paused', true]);
  assert.equal((await fake.run(id, ['true'])).exitCode, 0);
  assert.deepEqual(view(id), ['running', false]);
  await fake.edge.sandboxes.pause(id);
  const listed = await fake.edge.execs.list(id, { limit: 10 });
  assert.equal(listed.items.length, 2);
  assert.deepEqual(view(id), ['paused', false], 'reading what was written down wakes nobody');
});

test('a wake whose boot fails tells all that wait, and the next one tries again', async () => {
  const { id } = await fake.create({ autoResume: true });
  await sleepOn(id);
  fake.driver.onStep = async (step) => {
    if (step === 'start') throw new VivError('node_full', 'no room');
  };
  const woken = await Promise.allSettled(Array.from({ length: 5 }, () => fake.edge.sandboxes.wake(id)));
  assert.ok(woken.every((each) => each.status === 'rejected' && each.reason.code === 'node_full'));
  fake.driver.onStep = async () => {};
  assert.equal((await fake.edge.sandboxes.wake(id)).state, 'running');
});
