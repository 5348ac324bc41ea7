import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { FakeEdge } from '../fakes/fake-edge.ts';
import { Registry } from '../registry/registry.ts';

let fake: FakeEdge;
const owner = { keyId: 'k', maxSandboxes: null };
before(async () => {
  fake = await FakeEdge.open();
});
after(() => fake.close());

test('what a lease owns ends a grace time after its last holder left', async () => {
  const lease = fake.edge.leases.create({ graceS: 10, onExpire: 'kill' }, owner);
  const { id } = await fake.create({ lease: lease.id });
  const other = await fake.create();
  const a = fake.edge.leases.hold(lease.id);
  const b = fake.edge.leases.hold(lease.id);
  await fake.clock.advance(100_000);
  a.release();
  a.release();
  await fake.clock.advance(100_000);
  assert.equal(fake.edge.leases.get(lease.id).state, 'held');
  b.release();
  await fake.clock.advance(9000);
  assert.deepEqual([fake.edge.leases.get(lease.id).state, fake.edge.leases.get(lease.id).sandboxes], ['grace', 1]);
  fake.edge.leases.renew(lease.id);
  await fake.clock.advance(9000);
  assert.equal(fake.edge.sandboxes.get(id).state, 'running');
  await fake.clock.advance(2000);
  assert.equal(fake.edge.sandboxes.get(id).endReason, 'lease');
  assert.equal(fake.edge.sandboxes.get(other.id).state, 'running');
  assert.throws(() => fake.edge.leases.get(lease.id), { code: 'lease_not_found' });
});

test('with onExpire pause its sandboxes are held: frozen, their TTL stopped', async () => {
  const lease = fake.edge.leases.create({ graceS: 1, onExpire: 'pause' }, owner);
  const { id } = await fake.create({ lease: lease.id, ttlS: 100 });
  await fake.clock.advance(2000);
  await fake.clock.advance(1_000_000);
  assert.deepEqual([fake.edge.sandboxes.get(id).state, fake.edge.sandboxes.get(id).expiresAt], ['paused', null]);
});

test('what an expired lease still owned when the edge died is ended at the next start', async () => {
  const own = await FakeEdge.open();
  const lease = own.edge.leases.create({ graceS: 60, onExpire: 'kill' }, owner);
  const { id } = await own.create({ lease: lease.id });
  await own.edge.close();
  const registry = new Registry(join(own.stateDir, 'edge.db'), own.clock);
  registry.leases.delete(lease.id);
  registry.close();
  await own.open();
  assert.equal(own.edge.sandboxes.get(id).endReason, 'lease');
  await own.close();
});

test('a label finds the newest lease that has it; ending one ends what it owns', async () => {
  fake.edge.leases.create({ graceS: 60, onExpire: 'kill', label: 'job' }, owner);
  const newest = fake.edge.leases.create({ graceS: 60, onExpire: 'kill', label: 'job' }, owner);
  assert.equal(fake.edge.leases.find('job')!.id, newest.id);
  const { id } = await fake.create({ lease: newest.id });
  await fake.edge.leases.end(newest.id);
  assert.equal(fake.edge.sandboxes.get(id).state, 'ended');
  const first = fake.edge.leases.list({ limit: 1 });
  assert.equal(first.items.length, 1);
});
