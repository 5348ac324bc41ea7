import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { SandboxState } from '@vivarium/protocol';
import fc from 'fast-check';
import type { SandboxFilter } from '../edge.ts';
import { FakeEdge } from '../fakes/fake-edge.ts';

let fake: FakeEdge;
beforeEach(async () => {
  fake = await FakeEdge.open();
});
afterEach(() => fake.close());

/** Walks all pages; `between` happens before each further one. */
async function walk(filter: SandboxFilter, limit: number, between: (page: number) => Promise<void> = async () => {}) {
  const ids: string[] = [];
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    const { items, nextCursor } = fake.edge.sandboxes.list(filter, { limit, cursor });
    assert.ok(items.length <= limit && (nextCursor === null || items.length === limit));
    ids.push(...items.map(({ id }) => id));
    if (nextCursor === null) return ids;
    cursor = nextCursor;
    await between(page);
  }
}

test('every filter leaves what matches it, both orders are of creation', async () => {
  const [a, b, c] = [
    await fake.create({ metadata: { user: 'ann', run: '1' } }),
    await fake.create({ metadata: { user: 'ann', run: '=2 & more' }, labels: { x: '1' } }),
    await fake.create({ metadata: { user: 'bob' } }),
  ].map(({ id }) => id) as [string, string, string];
  const list = (filter: SandboxFilter) => fake.edge.sandboxes.list(filter, { limit: 100 }).items.map(({ id }) => id);
  assert.deepEqual(list({}), [c, b, a]);
  assert.deepEqual(list({ order: 'asc' }), [a, b, c]);
  assert.deepEqual(list({ metadata: { user: 'ann' } }), [b, a]);
  assert.deepEqual(list({ metadata: { user: 'ann', run: '=2 & more' } }), [b]);
  assert.deepEqual(list({ metadata: { user: 'ann' }, labels: { x: '1' }, order: 'asc' }), [b]);
  assert.deepEqual(list({ metadata: { toString: 'x' } }), []);
  assert.deepEqual(list({ metadata: { user: '' } }), []);
  assert.deepEqual(list({ images: ['base/other@1'] }), []);
  assert.deepEqual(list({ images: ['base/other@1', 'base/test@1'], states: ['running'] }), [c, b, a]);
  assert.deepEqual(list({ images: [], states: [] }), [c, b, a]);
});

test('startedAfterMs leaves out what began to run then or before, and what never ran', async () => {
  const first = await fake.create();
  await fake.clock.advance(5000);
  const second = await fake.create();
  const after = (ms: number) =>
    fake.edge.sandboxes.list({ startedAfterMs: ms }, { limit: 100 }).items.map(({ id }) => id);
  const began = Date.parse(first.startedAt!);
  assert.deepEqual([after(began - 1), after(began), after(began + 5000)], [[second.id, first.id], [second.id], []]);
});

test('an update puts new metadata in place of the old', async () => {
  const { id } = await fake.create({ metadata: { a: '1', b: '2' } });
  assert.deepEqual(fake.edge.sandboxes.update(id, { metadata: { c: '3' } }).metadata, { c: '3' });
  await fake.restart();
  assert.deepEqual(fake.edge.sandboxes.get(id).metadata, { c: '3' });
  const { autoResume, pauseMemory, onTimeout } = fake.edge.sandboxes.update(id, {
    autoResume: true,
    pauseMemory: false,
    onTimeout: 'pause',
  });
  assert.deepEqual([autoResume, pauseMemory, onTimeout], [true, false, 'pause']);
});

test('a cursor belongs to its order', async () => {
  for (let i = 0; i < 3; i++) await fake.create();
  for (const [order, other] of [
    ['asc', 'desc'],
    ['desc', 'asc'],
  ] as const) {
    const { nextCursor } = fake.edge.sandboxes.list({ order }, { limit: 1 });
    assert.throws(() => fake.edge.sandboxes.list({ order: other }, { limit: 1, cursor: nextCursor! }), {
      code: 'invalid_argument',
    });
  }
});

test('while sandboxes come and go, a walk tells none twice and none of those that stay is missing', async () => {
  let walks = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        order: fc.constantFrom('asc' as const, 'desc' as const),
        limit: fc.integer({ min: 1, max: 7 }),
        states: fc.constantFrom<SandboxState[]>([], ['running']),
        moves: fc.array(fc.record({ kill: fc.nat(30), creates: fc.nat(3) }), { maxLength: 12 }),
      }),
      async ({ order, limit, states, moves }) => {
        const mine: string[] = [];
        const walked = `${++walks}`;
        for (let i = 0; i < 20; i++) mine.push((await fake.create({ metadata: { walk: walked } })).id);
        const gone = new Set<string>();
        const ids = await walk({ order, states, metadata: { walk: walked } }, limit, async (page) => {
          const move = moves[page - 1];
          if (!move) return;
          const victim = mine[move.kill];
          if (victim) await fake.edge.sandboxes.kill(victim);
          if (victim) gone.add(victim);
          for (let i = 0; i < move.creates; i++) mine.push((await fake.create({ metadata: { walk: walked } })).id);
        });
        assert.equal(new Set(ids).size, ids.length);
        assert.deepEqual(
          ids,
          [...ids].sort((a, b) => (a < b ? -1 : 1) * (order === 'asc' ? 1 : -1)),
        );
        for (const id of mine.slice(0, 20)) assert.ok(gone.has(id) || ids.includes(id), id);
        for (const id of mine) await fake.edge.sandboxes.kill(id);
      },
    ),
    { numRuns: 25 },
  );
});
