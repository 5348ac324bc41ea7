import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ksUpTo, passAtK } from './pass-at-k.ts';

test('pass@k is 0 when nothing passed, 1 when fewer than k failed, c/n for k = 1', () => {
  assert.equal(passAtK(10, 0, 5), 0);
  assert.equal(passAtK(10, 6, 5), 1);
  assert.ok(Math.abs(passAtK(10, 3, 1) - 0.3) < 1e-12);
});

test('pass@k is the share of all choices of k samples that hold a pass', () => {
  const choose = (n: number, k: number): number => (k === 0 ? 1 : n < k ? 0 : choose(n - 1, k - 1) + choose(n - 1, k));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 12 }), fc.nat(12), fc.nat(12), (n, passed, size) => {
      const c = Math.min(passed, n);
      const k = 1 + (size % n);
      const exact = 1 - choose(n - c, k) / choose(n, k);
      assert.ok(Math.abs(passAtK(n, c, k) - exact) < 1e-9);
    }),
  );
});

test('ks are 1, powers of two and multiples of five up to n', () => {
  assert.deepEqual(ksUpTo(0), []);
  assert.deepEqual(ksUpTo(3), [1, 2]);
  assert.deepEqual(ksUpTo(16), [1, 2, 4, 5, 8, 10, 15, 16]);
});
