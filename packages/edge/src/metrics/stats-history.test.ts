import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Sample, StatsHistory } from './stats-history.ts';

const PAGE = 4096;
const ceilings = { memoryLimitBytes: 1, pidsLimit: 2, diskLimitBytes: 3 };
const sample = (atMs: number, n = 0): Sample => ({
  atMs,
  cpuUsageUs: n * 1_000_003,
  cpuThrottledUs: n,
  memoryBytes: n * PAGE,
  memoryPeakBytes: n * PAGE,
  memoryCacheBytes: n * PAGE,
  diskBytes: n * PAGE,
  oomKills: n % 7,
  pids: n % 500,
  execsRunning: n % 9,
  execsTotal: n,
});

test('a sample comes back as it was measured', () => {
  const history = new StatsHistory();
  history.add(sample(1_700_000_000_123, 12_345));
  const { atMs: _, ...used } = sample(0, 12_345);
  assert.deepEqual(history.between(0, Number.MAX_SAFE_INTEGER, ceilings), [
    {
      at: '2023-11-14T22:13:20.123Z',
      ...used,
      cpuWantedUs: used.cpuUsageUs + used.cpuThrottledUs,
      ...ceilings,
    },
  ]);
});

test('however many were added: bounded, in order, the first and the last ones are there, and no gap before them is smaller than after', () => {
  fc.assert(
    fc.property(fc.nat(1000), (count) => {
      const history = new StatsHistory();
      for (let n = 0; n < count; n++) history.add(sample(n * 5000, n));
      const times = history.between(0, Number.MAX_SAFE_INTEGER, ceilings).map(({ at }) => Date.parse(at));
      assert.equal(times.length, history.size);
      assert.ok(times.length <= 28 && times.length >= Math.min(count, 21));
      if (count === 0) return;
      assert.equal(times[0], 0);
      const last = Array.from({ length: Math.min(count, 14) }, (_, i) => (count - 1 - i) * 5000).reverse();
      assert.deepEqual(times.slice(-last.length), last);
      const gaps = times.slice(1).map((time, i) => time - times[i]!);
      for (const [i, gap] of gaps.entries()) assert.ok(i === 0 || gap <= gaps[i - 1]!, gaps.join(' '));
    }),
  );
});

test('only what lies between the times is told, both ends included', () => {
  const history = new StatsHistory();
  for (let n = 0; n < 10; n++) history.add(sample(n * 1000, n));
  const between = (from: number, to: number) => history.between(from, to, ceilings).map(({ at }) => Date.parse(at));
  assert.deepEqual(between(2000, 4000), [2000, 3000, 4000]);
  assert.deepEqual(between(4001, 4999), []);
  assert.deepEqual(between(9000, 1e15), [9000]);
});

test('a full one takes no more memory than an empty one', () => {
  const bytes = () => process.memoryUsage().arrayBuffers;
  const before = bytes();
  const history = new StatsHistory();
  const made = bytes() - before;
  assert.ok(made > 0 && made < 2048, `${made} bytes`);
  for (let n = 0; n < 1000; n++) history.add(sample(n, n));
  assert.ok(bytes() - before <= made);
});
