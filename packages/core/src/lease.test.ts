import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { holdClaim, leaseState, newClaim, releaseClaim, renewClaim, restartClaim } from './lease.ts';

test('a lease is held exactly while somebody holds it, and expires a grace time after the last one left', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('hold', 'release', 'renew', 'wait'), { maxLength: 50 }), (steps) => {
      let now = 0;
      let held = 0;
      let claim = newClaim(100, now);
      let deadline = 100;
      for (const step of steps) {
        if (step === 'hold') {
          held += 1;
          claim = holdClaim(claim);
        } else if (step === 'release' && held > 0) {
          held -= 1;
          claim = releaseClaim(claim, now);
          if (held === 0) deadline = now + 100;
        } else if (step === 'renew') {
          claim = renewClaim(claim, now);
          if (held === 0) deadline = now + 100;
        } else now += 30;
        assert.equal(leaseState(claim, now), held > 0 ? 'held' : now >= deadline ? 'expired' : 'grace');
      }
    }),
  );
});

test('a restart gives a fresh grace time', () => {
  assert.equal(restartClaim(500, 1000).deadlineMs, 1500);
});
