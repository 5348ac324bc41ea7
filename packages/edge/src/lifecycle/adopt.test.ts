import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { verifyChain } from '@vivarium/core';
import { FakeEdge } from '../fakes/fake-edge.ts';

let fake: FakeEdge;
beforeEach(async () => {
  fake = await FakeEdge.open();
});
afterEach(() => fake.close());
const sha256 = (data: string) => createHash('sha256').update(data).digest('hex');

test('after a restart every sandbox is there and every command goes on with exact output', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 20; i++) ids.push((await fake.create()).id);
  const running = [];
  for (const id of ids.slice(0, 5)) running.push({ id, exec: (await fake.start(id, ['wait'])).exec.id });
  for (const { id, exec } of running) fake.driver.guest(id).process(exec).print(`before ${id} `.repeat(2000));
  await fake.restart();
  assert.deepEqual(fake.edge.adopted, { adopted: 20, lost: 0 });
  for (const { id, exec } of running) {
    const process = fake.driver.guest(id).process(exec);
    process.print('after');
    process.exit('exited', 7);
  }
  for (const { id, exec } of running) {
    const result = await fake.edge.execs.result(id, exec, 1000);
    const expected = `${`before ${id} `.repeat(2000)}after`;
    assert.deepEqual(result.outcome, { type: 'exited', code: 7 });
    assert.equal(Buffer.from(result.stdoutB64, 'base64').toString(), expected);
    assert.equal(result.stdout.sha256, sha256(expected));
    assert.equal(fake.driver.guest(id).processes.size, 0);
    verifyChain(await fake.edge.sandboxes.logs(id, -1, 1000));
  }
});

test('a command that ended while the edge was away is reported as it ended', async () => {
  const { id } = await fake.create();
  const { exec } = await fake.start(id, ['wait']);
  await fake.edge.close();
  const process = fake.driver.guest(id).process(exec.id);
  process.print('meanwhile');
  process.exit('signaled', 11);
  await fake.open();
  const result = await fake.edge.execs.result(id, exec.id, 1000);
  assert.deepEqual(result.outcome, { type: 'signaled', signal: 11 });
  assert.equal(Buffer.from(result.stdoutB64, 'base64').toString(), 'meanwhile');
});

test('an OOM kill is known over a restart, and one from before the command is not its', async () => {
  const { id } = await fake.create();
  const handle = fake.driver.cells.get(id)!;
  handle.counted.oomKills = 2;
  const before = await fake.start(id, ['wait']);
  await fake.restart();
  fake.driver.guest(id).process(before.exec.id).exit('signaled', 9);
  assert.equal((await fake.edge.execs.result(id, before.exec.id, 1000)).outcome!.type, 'signaled');
  const hit = await fake.start(id, ['wait']);
  await fake.edge.close();
  handle.counted.oomKills = 3;
  fake.driver.guest(id).process(hit.exec.id).exit('signaled', 9);
  await fake.open();
  assert.equal((await fake.edge.execs.result(id, hit.exec.id, 1000)).outcome!.type, 'oom');
});

test('a sandbox whose cell is gone is lost, and so are its commands', async () => {
  const { id } = await fake.create();
  const { exec } = await fake.start(id, ['wait']);
  fake.driver.cells.delete(id);
  await fake.restart();
  const sandbox = fake.edge.sandboxes.get(id);
  assert.deepEqual([sandbox.state, sandbox.endReason], ['ended', 'lost']);
  assert.deepEqual((await fake.edge.execs.get(id, exec.id)).outcome, { type: 'sandbox_lost' });
});

test('the time-out of a command counts the time before the restart', async () => {
  const { id } = await fake.create();
  const { exec } = await fake.start(id, ['wait'], {}, { timeoutMs: 10_000 });
  await fake.clock.advance(8000);
  await fake.restart();
  await fake.clock.advance(3000);
  assert.deepEqual((await fake.edge.execs.get(id, exec.id)).outcome, { type: 'timeout' });
});

test('keys of creates and commands hold over a restart', async () => {
  const key = { key: 'k', requestHash: 'h' };
  const { id } = await fake.create({}, key);
  const first = await fake.run(id, ['print', 'once'], {}, key);
  await fake.restart();
  assert.equal((await fake.create({}, key)).id, id);
  const again = await fake.run(id, ['print', 'once'], {}, key);
  assert.equal(again.id, first.id);
  assert.equal(Buffer.from(again.stdoutB64, 'base64').toString(), 'once');
  await assert.rejects(fake.run(id, ['print', 'twice'], {}, { key: 'k', requestHash: 'x' }), {
    code: 'idempotency_mismatch',
  });
});

test('TTL and pause survive a restart; a paused sandbox can be resumed', async () => {
  const a = await fake.create({ ttlS: 100 });
  const b = await fake.create({ ttlS: 1000 });
  await fake.edge.sandboxes.pause(b.id);
  await fake.restart();
  assert.equal(fake.edge.sandboxes.get(b.id).state, 'paused');
  await fake.clock.advance(101_000);
  assert.equal(fake.edge.sandboxes.get(a.id).endReason, 'ttl');
  assert.equal((await fake.edge.sandboxes.resume(b.id)).state, 'running');
  assert.equal((await fake.run(b.id, ['print', 'x'])).exitCode, 0);
});

test('a sandbox that was frozen for a fork or a snapshot when the edge died runs again', async () => {
  const { id } = await fake.create();
  const { exec } = await fake.start(id, ['wait']);
  const frozen = Promise.withResolvers<void>();
  const handle = fake.driver.cells.get(id)!;
  handle.snapshotScratch = () => {
    frozen.resolve();
    return new Promise(() => {});
  };
  void fake.edge.sandboxes.fork(id, { count: 1 }, { keyId: 'k', maxSandboxes: null });
  await frozen.promise;
  assert.equal(handle.paused, true);
  await fake.restart();
  assert.deepEqual([fake.edge.adopted, handle.paused], [{ adopted: 1, lost: 0 }, false]);
  fake.driver.guest(id).process(exec.id).exit('exited', 4);
  assert.equal((await fake.edge.execs.result(id, exec.id, 1000)).exitCode, 4);
});

test('a torn last line of a journal is cut off and the chain goes on', async () => {
  const { id } = await fake.create();
  await fake.run(id, ['true']);
  const before = await fake.edge.sandboxes.logs(id, -1, 100);
  await fake.edge.close();
  appendFileSync(join(fake.stateDir, 'sandboxes', id, 'journal.jsonl'), '{"seq":4,"at":"2026');
  await fake.open();
  await fake.run(id, ['true']);
  const after = await fake.edge.sandboxes.logs(id, -1, 100);
  assert.deepEqual(after.slice(0, before.length), before);
  assert.equal(verifyChain(after).seq, before.length + 1);
});

test('what a driver finds that no row knows is swept', async () => {
  const { id } = await fake.create();
  fake.driver.cells.set('stranger', fake.driver.cells.get(id)!);
  await fake.restart();
  assert.deepEqual(fake.driver.swept, ['stranger']);
});

test('leases survive a restart with a fresh grace time', async () => {
  const lease = fake.edge.leases.create(
    { graceS: 60, onExpire: 'kill', label: 'job' },
    { keyId: 'k', maxSandboxes: null },
  );
  const { id } = await fake.create({ lease: lease.id });
  fake.edge.leases.hold(lease.id);
  await fake.clock.advance(600_000);
  await fake.restart();
  assert.equal(fake.edge.leases.find('job')!.state, 'grace');
  await fake.clock.advance(59_000);
  assert.equal(fake.edge.sandboxes.get(id).state, 'running');
  await fake.clock.advance(2000);
  assert.deepEqual([fake.edge.sandboxes.get(id).endReason, fake.edge.leases.find('job')], ['lease', undefined]);
});
