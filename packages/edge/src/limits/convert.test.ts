import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cpusToQuotaUs, isCpuQuotaNeeded, parseKeyed, weightToShares } from './convert.ts';

test('the default weight is the default of cgroup v1 shares', () => {
  assert.equal(weightToShares(100), 1024);
});

test('shares keep the proportion of weights and stay within the kernel’s bounds', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: 10_000 }), (a, b) => {
      const [one, other] = [weightToShares(a), weightToShares(b)];
      assert.ok(one >= 2 && one <= 262_144);
      if (a <= b) assert.ok(one <= other);
    }),
  );
});

test('a quota is microseconds per tenth of a second, never below what the kernel takes', () => {
  assert.equal(cpusToQuotaUs(2), 200_000);
  assert.equal(cpusToQuotaUs(0.5), 50_000);
  assert.equal(cpusToQuotaUs(0.001), 1_000);
});

test('a quota of all CPUs or more binds nobody', () => {
  assert.deepEqual(
    [0.5, 1.99, 2, 3].map((cpus) => isCpuQuotaNeeded(cpus, 2)),
    [true, true, false, false],
  );
});

test('keyed files are read line by line', () => {
  const keyed = parseKeyed('oom_kill_disable 0\nunder_oom 0\noom_kill 3\n');
  assert.equal(keyed.get('oom_kill'), 3);
  assert.equal(keyed.get('missing'), undefined);
  assert.equal(parseKeyed('').size, 0);
});
