import assert from 'node:assert/strict';
import { test } from 'node:test';
import { combineRewards, fallsShort } from './steps.ts';

test('a reward that is missing is below every minimum', () => {
  assert.equal(fallsShort(null, null), false);
  assert.equal(fallsShort({ reward: 0.5 }, { reward: 0.5 }), false);
  assert.equal(fallsShort({ reward: 0.5 }, { reward: 0.4 }), true);
  assert.equal(fallsShort({ reward: 0 }, null), true);
  assert.equal(fallsShort({ speed: 1 }, { reward: 1 }), true);
});

test('the mean is per key, over the steps that have it', () => {
  const steps: (Record<string, number> | null)[] = [{ reward: 1, speed: 3 }, { reward: 0 }, null];
  assert.deepEqual(combineRewards('mean', steps), { reward: 0.5, speed: 3 });
  assert.equal(combineRewards('mean', [null]), null);
});

test('final takes the last step’s, and nothing when that has none', () => {
  assert.deepEqual(combineRewards('final', [{ reward: 0 }, { reward: 1 }]), { reward: 1 });
  assert.equal(combineRewards('final', [{ reward: 1 }, null]), null);
});
