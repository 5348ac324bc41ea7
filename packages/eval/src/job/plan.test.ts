import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { planTrials, trialName } from './plan.ts';

const now = new Date('2026-11-30T00:00:00Z');
const task = (id: string) => ({ id, path: `/set/${id}`, checksum: id });

test('first attempts come first, and every task has every attempt', () => {
  const plan = planTrials([task('a'), task('b')], 3, now);
  assert.deepEqual(
    plan.trials.map(({ task_id, attempt }) => `${task_id}${attempt}`),
    ['a1', 'b1', 'a2', 'b2', 'a3', 'b3'],
  );
});

test('names are told apart even where the random part repeats, also on file systems without case', () => {
  // Seven draws per name: the same name twice, then another.
  const draws = [...Array(14).fill(0.1), ...Array(7).fill(0.9)].values();
  const plan = planTrials([task('same')], 2, now, () => draws.next().value ?? 0.5);
  const [first, second] = plan.trials;
  assert.notEqual(first!.trial_name.toLowerCase(), second!.trial_name.toLowerCase());
});

test('whatever the task is called, a trial’s name is one short file name', () => {
  fc.assert(
    fc.property(fc.string(), (id) => {
      assert.match(
        trialName(id, () => 0.5),
        /^[A-Za-z0-9_][A-Za-z0-9._-]{0,31}__[A-Za-z0-9]{7}$/,
      );
    }),
  );
});

test('nothing to run and far too much to run are refused', () => {
  assert.throws(() => planTrials([], 1, now), { code: 'invalid_argument' });
  assert.throws(() => planTrials([task('a'), task('b')], 100_000, now), /too many trials/);
});
