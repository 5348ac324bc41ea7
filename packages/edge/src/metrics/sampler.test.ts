import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { FakeEdge } from '../fakes/fake-edge.ts';

let fake: FakeEdge;
/** When usage was read, in ms since the start, of any sandbox. */
let reads: { id: string; atMs: number }[];
beforeEach(async () => {
  fake = await FakeEdge.open({ createQueue: 10_000 });
  reads = [];
});
afterEach(() => fake.close());

const FOREVER = Number.MAX_SAFE_INTEGER;
const history = (id: string) => fake.edge.sandboxes.statsHistory(id, 0, FOREVER);
const past = async (id: string) => fake.edge.sandboxes.statsHistory(id, 0, fake.clock.now() - 1);

async function watched(request = {}) {
  const { id } = await fake.create(request);
  const handle = fake.driver.cells.get(id)!;
  const usage = handle.usage.bind(handle);
  handle.usage = () => {
    reads.push({ id, atMs: fake.clock.monotonicMs() });
    return usage();
  };
  return id;
}

test('a fresh sandbox is measured soon, then every five seconds', async () => {
  const id = await watched();
  await fake.clock.advance(500);
  assert.equal(reads.length, 1);
  await fake.clock.advance(20_000);
  assert.equal(reads.length, 5);
  const stats = await past(id);
  assert.equal(stats.length, 5);
  assert.deepEqual([stats[0]!.memoryLimitBytes, stats[0]!.pidsLimit, stats[0]!.cpuUsageUs], [1024 * 1_048_576, 512, 1]);
});

test('who asks for the history of one that nobody looked at yet gets a sample; who asks again soon gets no second', async () => {
  const id = await watched();
  assert.equal((await history(id)).length, 1);
  assert.equal((await history(id)).length, 1);
  assert.equal(reads.length, 1);
  const now = fake.clock.now();
  assert.deepEqual(await fake.edge.sandboxes.statsHistory(id, now + 1, FOREVER), []);
});

test('a thousand sandboxes share 48 samples a second; each gets its turn, a fresh one at once, and none twice in five seconds', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 1000; i++) ids.push(await watched());
  await fake.clock.advance(21_000);
  assert.equal(new Set(reads.map(({ id }) => id)).size, 1000);
  const fresh = await watched();
  await fake.clock.advance(300);
  assert.equal(reads.filter(({ id }) => id === fresh).length, 1);
  await fake.clock.advance(60_000);
  const perSecond = new Map<number, number>();
  for (const { atMs } of reads)
    perSecond.set(Math.floor(atMs / 1000), (perSecond.get(Math.floor(atMs / 1000)) ?? 0) + 1);
  assert.ok(Math.max(...perSecond.values()) <= 48, [...perSecond.values()].join(' '));
  for (const id of [...ids, fresh]) {
    const times = reads.filter((read) => read.id === id).map(({ atMs }) => atMs);
    assert.ok(times.length >= 3);
    for (const [i, time] of times.entries()) assert.ok(i === 0 || time - times[i - 1]! >= 5000);
  }
});

test('what is paused is not measured and keeps its history; after that it goes on', async () => {
  const id = await watched();
  await fake.clock.advance(11_000);
  await fake.edge.sandboxes.pause(id);
  const before = (await history(id)).length;
  await fake.clock.advance(60_000);
  assert.equal((await history(id)).length, before);
  await fake.edge.sandboxes.resume(id);
  await fake.clock.advance(6000);
  assert.ok((await past(id)).length > before);
  await fake.edge.sandboxes.pause(id, { memory: false });
  await fake.edge.sandboxes.resume(id);
  await fake.clock.advance(500);
  assert.ok((await past(id)).length > before + 1, 'one that boots anew is fresh');
  await fake.edge.sandboxes.kill(id);
  await assert.rejects(history(id), { code: 'sandbox_dead' });
});

test('an edge without sandboxes looks at nothing', async () => {
  const id = await watched();
  await fake.edge.sandboxes.kill(id);
  await fake.clock.advance(20_000);
  const before = fake.clock.pending;
  await fake.clock.advance(100_000);
  assert.deepEqual([reads.length, fake.clock.pending], [0, before]);
});
