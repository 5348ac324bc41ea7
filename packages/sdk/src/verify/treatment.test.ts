import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pressure } from '@vivarium/protocol/node.ts';
import type { Stats } from '@vivarium/protocol/sandbox.ts';
import { treatment } from './treatment.ts';

const MIB = 1_048_576;
const calm: Pressure = {
  cpus: 2,
  loadAvg: [1, 1, 1],
  cpuTotalMs: 100_000,
  cpuBusyMs: 10_000,
  cpuStealMs: 0,
  cpuBusyPct: 10,
  stealPct: 0,
  memAvailableBytes: 8000 * MIB,
  memTotalBytes: 10_000 * MIB,
  psi: null,
};
const after = (change: Partial<Pressure> = {}): Pressure => ({
  ...calm,
  cpuTotalMs: 110_000,
  cpuBusyMs: 15_000,
  ...change,
});
const stats: Stats = {
  at: '2026-01-01T00:00:00.000Z',
  cpuUsageUs: 3_000_000,
  cpuThrottledUs: 1_000_000,
  cpuWantedUs: 4_000_000,
  memoryBytes: 100 * MIB,
  memoryPeakBytes: 256 * MIB,
  memoryCacheBytes: 0,
  memoryLimitBytes: 1024 * MIB,
  oomKills: 1,
  pids: 1,
  pidsLimit: 512,
  diskBytes: 3 * MIB,
  diskLimitBytes: 4096 * MIB,
  execsRunning: 0,
  execsTotal: 1,
};
const limits = { memoryMiB: 1024 };

test('a run is described by what it wanted, got, and had left', () => {
  const result = treatment(calm, after(), stats, limits);
  assert.equal(result.cpuWantedMs, 4000);
  assert.equal(result.cpuThrottledMs, 1000);
  assert.equal(result.throttledPct, 25);
  assert.equal(result.memoryPeakMiB, 256);
  assert.equal(result.memoryHeadroomPct, 75);
  assert.equal(result.oomKills, 1);
  assert.equal(result.diskMiB, 3);
  assert.equal(result.hostCpuBusyPct, 50);
});

test('its own limits make no run suspect', () => {
  const throttled = { ...stats, cpuThrottledUs: 90_000_000, cpuWantedUs: 93_000_000, memoryPeakBytes: 1024 * MIB };
  const result = treatment(calm, after(), throttled, limits);
  assert.deepEqual(result.reasons, []);
  assert.equal(result.suspect, false);
  assert.equal(result.memoryHeadroomPct, 0);
});

test('each way in which a machine disturbs makes a run suspect and is named', () => {
  const psi = { cpuSome10: 90, memorySome10: 50, memoryFull10: 20, ioSome10: 70 };
  for (const [change, reason, count] of [
    [{ cpuStealMs: 1000 }, /lost 10 % of its CPU time/, 1],
    [{ loadAvg: [16, 1, 1] }, /8 processes wanted each CPU/, 1],
    [{ memAvailableBytes: 100 * MIB }, /1 % of the machine’s memory/, 1],
    [{ psi }, /waited for memory 20 %/, 2],
  ] as [Partial<Pressure>, RegExp, number][]) {
    const { suspect, reasons } = treatment(calm, after(change), stats, limits);
    assert.equal(suspect, true);
    assert.equal(reasons.length, count);
    assert.match(reasons[0]!, reason);
  }
});

test('two looks at the same moment divide by nothing', () => {
  const result = treatment(calm, calm, { ...stats, cpuWantedUs: 0, cpuThrottledUs: 0 }, limits);
  assert.equal(result.hostCpuBusyPct, 0);
  assert.equal(result.throttledPct, 0);
});
