import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PressureGauge, parseCpu, parsePsi } from './pressure.ts';

test('busy is all but idle and waiting for disks, and guests are not counted twice', () => {
  const text = 'cpu  100 10 50 800 40 1 2 7 90 5\ncpu0 1 1 1 1\nintr 5\n';
  assert.deepEqual(parseCpu(text), { totalMs: 10_100, busyMs: 1700, stealMs: 70 });
});

test('pressure that the kernel does not count is null', () => {
  assert.equal(parsePsi('', 'some'), null);
  assert.equal(parsePsi('some avg10=1.25 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.50 avg60=0\n', 'full'), 0.5);
});

test('this machine has CPUs, and its counters rise', () => {
  let now = 0;
  const gauge = new PressureGauge(() => (now += 2000));
  const first = gauge.read();
  const second = gauge.read();
  assert.ok(first.cpus >= 1);
  assert.ok(second.cpuTotalMs >= first.cpuTotalMs);
  assert.ok(second.cpuBusyPct >= 0 && second.cpuBusyPct <= 100);
  assert.ok(first.memAvailableBytes > 0 && first.memAvailableBytes <= first.memTotalBytes);
});
