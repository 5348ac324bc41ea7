import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PackRequest, VivError } from '@vivarium/protocol';
import { FakeEdge } from '../fakes/fake-edge.ts';

let fake: FakeEdge;
before(async () => {
  fake = await FakeEdge.open();
});
after(() => fake.close());

const OWNER = { keyId: 'k', maxSandboxes: null };
const pack = (id: string, image = 'packed@1', key?: string, requestHash = 'h') =>
  fake.edge.sandboxes.pack(
    id,
    PackRequest.parse({ image }),
    OWNER,
    key === undefined ? undefined : { key, requestHash },
  );
const state = (id: string) => fake.edge.sandboxes.get(id).state;

/** The image store's commits wait until they are let go; `calls` counts them. */
function holdCommits(t: { after(work: () => void): void }) {
  const { commit } = fake.images;
  t.after(() => {
    fake.images.commit = commit;
  });
  const held = { calls: 0, begun: Promise.withResolvers<void>(), go: Promise.withResolvers<void>() };
  fake.images.commit = async (request) => {
    held.calls++;
    held.begun.resolve();
    await held.go.promise;
    return commit.call(fake.images, request);
  };
  return held;
}

test('neither TTL nor idle time-out fires while a sandbox is packed; both do afterwards', async (t) => {
  const held = holdCommits(t);
  const { id } = await fake.create({ ttlS: 10 });
  const idle = await fake.create({ ttlS: 1000, idleTimeoutS: 10 });
  const packing = [pack(id), pack(idle.id)];
  await held.begun.promise;
  await fake.clock.advance(60_000);
  assert.deepEqual([state(id), state(idle.id)], ['running', 'running']);
  held.go.resolve();
  await Promise.all(packing);
  await fake.clock.advance(1000);
  assert.deepEqual([state(id), fake.edge.sandboxes.get(id).endReason], ['ended', 'ttl']);
  assert.equal(state(idle.id), 'running', 'the idle time starts anew');
  await fake.clock.advance(11_000);
  assert.equal(fake.edge.sandboxes.get(idle.id).endReason, 'idle');
});

test('it is frozen while it is packed and runs on afterwards, also when the pack fails', async (t) => {
  const held = holdCommits(t);
  const { id } = await fake.create();
  const cell = fake.driver.cells.get(id)!;
  const packing = pack(id);
  await held.begun.promise;
  assert.equal(cell.paused, true);
  held.go.reject(new VivError('node_disk_full', 'no room'));
  await assert.rejects(packing, { code: 'node_disk_full' });
  assert.equal(cell.paused, false);
  assert.equal(state(id), 'running');
});

test('the same key gets the same report, once made; another request with it is refused', async (t) => {
  const held = holdCommits(t);
  held.go.resolve();
  const { id } = await fake.create();
  const [first, second] = await Promise.all([pack(id, 'a@1', 'key'), pack(id, 'a@1', 'key')]);
  assert.equal(first, second);
  assert.equal(await pack(id, 'a@1', 'key'), first);
  assert.equal(held.calls, 1);
  await assert.rejects(pack(id, 'b@1', 'key', 'other'), { code: 'idempotency_mismatch' });
  for (let i = 0; i < 20; i++) await pack(id, `more@${i}`, `key${i}`);
  await pack(id, 'a@1', 'key');
  assert.equal(held.calls, 22, 'only the newest keys are remembered');
});

test('a pack that failed can be tried again with its key', async (t) => {
  const { commit } = fake.images;
  t.after(() => {
    fake.images.commit = commit;
  });
  const { id } = await fake.create();
  fake.images.commit = async () => {
    throw new VivError('node_disk_full', 'no room');
  };
  await assert.rejects(pack(id, 'a@1', 'again'), { code: 'node_disk_full' });
  fake.images.commit = commit;
  assert.equal((await pack(id, 'a@1', 'again')).image.name, 'a@1');
});

test('the journal says what was packed; an ended sandbox is not', async () => {
  const { id } = await fake.create();
  await pack(id, 'noted@1');
  const records = await fake.edge.sandboxes.logs(id, -1, 100);
  assert.ok(records.some(({ data }) => data.pack === 'noted@1'));
  await fake.edge.sandboxes.kill(id);
  await assert.rejects(pack(id), { code: 'sandbox_dead' });
});
