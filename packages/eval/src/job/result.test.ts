import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeJobConfig, fakeResult } from '../testing/fakes.ts';
import { evalKey, jobResult } from './result.ts';

const times = { startedAt: 'a', updatedAt: 'b', finishedAt: null };
const config = fakeJobConfig();
const stats = (...results: ReturnType<typeof fakeResult>[]) => jobResult(config, results, results.length, times);
const evalOf = (...results: ReturnType<typeof fakeResult>[]) => Object.values(stats(...results).stats.evals)[0]!;

test('failures of the machinery are no zeros: they stay out of the mean and of pass@k', () => {
  const sum = evalOf(
    fakeResult('t', 'passed', { reward: 1 }),
    fakeResult('t', 'infra_error', null),
    fakeResult('t', 'verifier_error', null),
    fakeResult('t', 'build_error', null),
    fakeResult('t', 'refused', null),
  );
  assert.equal(sum.metrics.mean, 1);
  assert.equal(sum.n_errors, 4);
  assert.deepEqual(sum.pass_at_k, { 1: 1 });
});

test('the strict mean counts an agent that left nothing to grade as 0, and still no failure of the machinery', () => {
  const sum = evalOf(
    fakeResult('t', 'passed', { reward: 1 }),
    fakeResult('t', 'verifier_error', null),
    fakeResult('t', 'agent_error', null),
    fakeResult('t', 'agent_timeout', null),
    fakeResult('t', 'infra_error', null),
    fakeResult('t', 'build_error', null),
  );
  assert.equal(sum.metrics.strict, 0.25);
  assert.equal(sum.metrics.mean, 1);
});

test('an agent that timed out or failed still has its grade', () => {
  const sum = evalOf(fakeResult('t', 'agent_timeout', { reward: 0.5 }), fakeResult('t', 'agent_error', { reward: 0 }));
  assert.equal(sum.metrics.mean, 0.25);
  assert.equal(sum.n_errors, 0);
});

test('pass@k weighs tasks the same and stops at the smallest number of graded attempts', () => {
  const pass = (task: string) => fakeResult(task, 'passed', { reward: 1 });
  const fail = (task: string) => fakeResult(task, 'failed', { reward: 0 });
  const sum = evalOf(pass('a'), pass('a'), pass('a'), fail('b'), fail('b'));
  assert.deepEqual(sum.pass_at_k, { 1: 0.5, 2: 0.5 });
});

test('several rewards have a mean each, and the score is that of the key reward', () => {
  const sum = evalOf(
    fakeResult('t', 'failed', { reward: 0.5, speed: 2 }),
    fakeResult('t', 'passed', { reward: 1, speed: 4 }),
  );
  assert.deepEqual(sum.metrics, { mean: 0.75, strict: 0.75, rewards: { reward: 0.75, speed: 3 } });
  assert.deepEqual(Object.keys(sum.reward_stats.reward!).sort(), ['0.5', '1']);
});

test('rewards may be named as what every object inherits', () => {
  const rewards = JSON.parse('{"__proto__": 1, "constructor": 0.5}') as Record<string, number>;
  const { reward_stats } = evalOf(fakeResult('t', 'passed', rewards));
  assert.deepEqual(Object.keys(reward_stats), ['__proto__', 'constructor']);
  assert.deepEqual(Object.keys(reward_stats.constructor!), ['0.5']);
  assert.equal(({} as Record<string, unknown>)['1'], undefined);
});

test('an eval is named agent__model__dataset, without a model agent__dataset', () => {
  assert.equal(evalKey(config), 'nop__set');
  assert.equal(evalKey({ ...config, agents: [{ ...config.agents[0]!, model_name: 'org/m1' }] }), 'nop__m1__set');
});

test('with nothing done there is no mean and nothing divides by zero', () => {
  const result = jobResult(config, [], 3, times);
  assert.equal(Object.values(result.stats.evals)[0]!.metrics.mean, null);
  assert.equal(result.stats.n_pending_trials, 3);
});
