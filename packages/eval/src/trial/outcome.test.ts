import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/sdk';
import { outcomeOf, scoreOf, stopFor } from './outcome.ts';

const timeout = { type: 'agent_timeout', message: '' } as const;

test('a score of one passes, less fails, none is the verifier’s error', () => {
  assert.equal(outcomeOf(null, { reward: 1 }, true), 'passed');
  assert.equal(outcomeOf(null, { reward: 0.99 }, true), 'failed');
  assert.equal(outcomeOf(null, { reward: 0 }, true), 'failed');
  assert.equal(outcomeOf(null, null, true), 'verifier_error');
});

test('the agent’s own failure is the outcome whatever the grade is', () => {
  assert.equal(outcomeOf(timeout, { reward: 1 }, true), 'agent_timeout');
  assert.equal(outcomeOf(timeout, null, true), 'agent_timeout');
});

test('without verification nothing passes and nothing fails', () => {
  assert.equal(outcomeOf(null, null, false), 'unverified');
  assert.equal(outcomeOf(timeout, null, false), 'agent_timeout');
});

test('the score is the key reward, else the mean', () => {
  assert.equal(scoreOf({ reward: 0.25, speed: 9 }), 0.25);
  assert.equal(scoreOf({ a: 1, b: 0 }), 0.5);
});

test('errors of the machinery are infra_error in every phase', () => {
  for (const phase of ['build', 'start', 'run', 'verify'] as const) {
    assert.equal(stopFor(new VivError('connection_lost', 'gone'), phase).outcome, 'infra_error');
    assert.equal(stopFor(new VivError('sandbox_dead', 'ended by somebody'), phase).outcome, 'infra_error');
    assert.equal(stopFor(new TypeError('a bug of ours'), phase).outcome, 'infra_error');
  }
});

test('an agent whose state can not be graded has failed itself', () => {
  const tooDeep = new VivError('invalid_image', 'directories too deep', { fault: 'agent' });
  assert.equal(stopFor(tooDeep, 'verify').outcome, 'agent_error');
});

test('what the task does wrong is told by its phase', () => {
  assert.equal(stopFor(new VivError('image_not_found', 'FROM nothing'), 'build').outcome, 'build_error');
  assert.equal(stopFor(new VivError('build_failed', 'line 3'), 'build').outcome, 'build_error');
  assert.equal(stopFor(new VivError('user_unknown', 'no such user'), 'run').outcome, 'agent_error');
  assert.equal(stopFor(new VivError('user_unknown', 'no such user'), 'verify').outcome, 'verifier_error');
  assert.equal(stopFor(new VivError('limit_too_high', '4096 CPUs'), 'start').outcome, 'refused');
  assert.equal(stopFor(new VivError('task_refused', 'GPUs'), 'run').outcome, 'refused');
});
