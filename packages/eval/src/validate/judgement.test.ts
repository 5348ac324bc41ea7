import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { loadTask } from '../task/load-task.ts';
import { taskDirectory } from '../task/testing/task-directory.ts';
import { judge } from './judgement.ts';
import type { ValidationRun } from './report.ts';

const TOML = '[agent]\ntimeout_sec = 10\n[verifier]\ntimeout_sec = 20\n';
const RUN: ValidationRun = {
  agent: 'oracle',
  outcome: 'passed',
  rewards: { reward: 1 },
  message: null,
  agentMs: 100,
  testMs: 100,
  memoryPeakMiB: null,
  memoryHeadroomPct: null,
};
const NOP: ValidationRun = { ...RUN, agent: 'nop', outcome: 'failed', rewards: { reward: 0 } };

async function verdict(t: TestContext, runs: ValidationRun[]) {
  const task = await loadTask(await taskDirectory(t, { 'task.toml': TOML }));
  return judge(task, runs).map(({ severity, rule, message }) => `${severity} ${rule}: ${message}`);
}

test('a solution that always passes and a nop that scores 0 leave nothing to say', async (t) => {
  assert.deepEqual(await verdict(t, [RUN, RUN, RUN, NOP]), []);
});

test('a solution that never passes, and one that passes sometimes', async (t) => {
  const failed: ValidationRun = { ...RUN, outcome: 'failed', rewards: { reward: 0 } };
  assert.match((await verdict(t, [failed, failed, NOP]))[0]!, /^error oracle_fails: .*failed with \{"reward":0\}/);
  assert.match((await verdict(t, [RUN, failed, RUN, NOP]))[0]!, /^error flaky: .*passed 2 of 3 times/);
  const ungraded: ValidationRun = { ...RUN, outcome: 'verifier_error', rewards: null, message: 'missing' };
  assert.match((await verdict(t, [ungraded, NOP]))[0]!, /^error oracle_fails: .*verifier_error: missing/);
});

test('rewards that differ though all pass are flaky too', async (t) => {
  const other = { ...RUN, rewards: { reward: 1.5 } };
  assert.match((await verdict(t, [RUN, other, NOP]))[0]!, /^warning flaky/);
});

test('doing nothing must not score', async (t) => {
  assert.match(
    (await verdict(t, [RUN, { ...NOP, outcome: 'passed', rewards: { reward: 1 } }]))[0]!,
    /^error nop_passes/,
  );
  assert.match((await verdict(t, [RUN, { ...NOP, rewards: { reward: 0.2 } }]))[0]!, /^warning nop_passes/);
  const crashed: ValidationRun = { ...NOP, outcome: 'verifier_error', rewards: null };
  assert.match((await verdict(t, [RUN, crashed]))[0]!, /^warning could_not_run: doing nothing is a verifier_error/);
});

test('a build that fails and a machine that fails are said alone', async (t) => {
  const build: ValidationRun = { ...RUN, outcome: 'build_error', rewards: null, message: 'Dockerfile:3: RUN' };
  assert.deepEqual(await verdict(t, [build, { ...build, agent: 'nop' }]), ['error build_failed: Dockerfile:3: RUN']);
  const stuck: ValidationRun = { ...RUN, outcome: 'infra_error', rewards: null, message: 'node full' };
  assert.deepEqual(await verdict(t, [stuck, NOP]), ['error could_not_run: node full']);
});

test('limits that are nearly used up are told', async (t) => {
  assert.match((await verdict(t, [{ ...RUN, agentMs: 6000 }, NOP]))[0]!, /6\.0 s of the 10 s of agent\.timeout_sec/);
  assert.match((await verdict(t, [RUN, { ...NOP, testMs: 15_000 }]))[0]!, /15\.0 s of the 20 s of verifier/);
  const tight = { ...RUN, memoryPeakMiB: 95, memoryHeadroomPct: 5 };
  assert.match((await verdict(t, [tight, NOP]))[0]!, /near_memory_limit: oracle used up to 95 MiB; 5 % of/);
});
