import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import { violation } from './frame.ts';
import { ReconnectPolicy } from './reconnect-policy.ts';

const broken = new VivError('connection_lost', 'closed');

test('the first retry is at once, later ones wait longer and longer, then it gives up', () => {
  const policy = new ReconnectPolicy();
  policy.connected(0);
  const delays: (number | null)[] = [];
  for (let i = 0; i < 12; i++) delays.push(policy.failed(broken, 10, false));
  assert.deepEqual(delays.slice(0, 4), [0, 10, 20, 40]);
  assert.equal(delays.at(-2), 2000);
  assert.equal(delays.at(-1), null);
});

test('a first connection gives up sooner', () => {
  const policy = new ReconnectPolicy();
  assert.deepEqual(
    [1, 2, 3].map(() => policy.failed(broken, 0, false)),
    [0, 10, null],
  );
});

test('a connection that held ends a row of failures, one that flaps does not', () => {
  const policy = new ReconnectPolicy();
  for (let i = 0; i < 50; i++) {
    policy.connected(i * 10_000);
    assert.equal(policy.failed(broken, i * 10_000 + 5_000, false), 0);
  }
  let last: number | null = 0;
  for (let i = 0; i < 12; i++) {
    policy.connected(i);
    last = policy.failed(broken, i, false);
  }
  assert.equal(last, null);
});

test('a guest that is gone is not tried again', () => {
  assert.equal(new ReconnectPolicy().failed(new VivError('sandbox_lost', 'gone'), 0, false), null);
});

test('the fourth violation is the last, however far apart', () => {
  const policy = new ReconnectPolicy();
  const outcomes = [1, 2, 3, 4].map((hour) => {
    policy.connected(hour * 3_600_000);
    return policy.failed(violation('test'), hour * 3_600_000 + 60_000, false);
  });
  assert.deepEqual(outcomes, [0, 0, 0, null]);
  assert.equal(policy.violations, 4);
});

test('a frozen sandbox is waited for', () => {
  const policy = new ReconnectPolicy();
  policy.connected(0);
  for (let i = 0; i < 100; i++) assert.notEqual(policy.failed(broken, 1, true), null);
});
