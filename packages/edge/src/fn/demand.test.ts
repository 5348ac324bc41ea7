import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Demand } from './demand.ts';

test('a pool wants half as many again as there were calls at once', () => {
  const demand = new Demand();
  assert.equal(demand.wanted(0), 0);
  demand.note(4, 0);
  demand.note(2, 10);
  assert.equal(demand.wanted(20), 6);
});

test('a peak is forgotten by halves', () => {
  const demand = new Demand();
  demand.note(8, 0);
  assert.equal(demand.peak(29_999), 8);
  assert.equal(demand.peak(30_000), 4);
  assert.equal(demand.peak(300_000), 0);
});

test('what somebody asked to keep warm is kept for its time', () => {
  const demand = new Demand();
  demand.warm(5, 1000);
  assert.equal(demand.wanted(999), 5);
  assert.equal(demand.wanted(1000), 0);
});
