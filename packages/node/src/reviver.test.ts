import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReviveSchedule } from './reviver.ts';

/** Moments at which a server that never comes up is started, in seconds. */
function attempts(schedule: ReviveSchedule, fromMs: number, toMs: number): number[] {
  const at: number[] = [];
  for (let now = fromMs; now <= toMs; now += 500) if (schedule.dead(now)) at.push((now - fromMs) / 1000);
  return at;
}

test('a dead server is started after a moment, then ever more seldom, at last once a minute', () => {
  assert.deepEqual(attempts(new ReviveSchedule(), 0, 250_000), [1, 3, 7, 15, 31, 63, 123, 183, 243]);
});

test('one that lived for a minute is started at once again; one that dies right away is not', () => {
  const schedule = new ReviveSchedule();
  attempts(schedule, 0, 20_000);
  schedule.alive(20_500);
  schedule.alive(50_000);
  assert.deepEqual(attempts(schedule, 51_000, 70_000), [16]);
  schedule.alive(80_000);
  schedule.alive(140_000);
  assert.deepEqual(attempts(schedule, 141_000, 143_000), [1]);
});
