import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { loadTask } from '../task/load-task.ts';
import { type Files, taskDirectory } from '../task/testing/task-directory.ts';
import { checkStatically } from './static-checks.ts';

const SOLUTION = '#!/bin/bash\n# the way to do it\nprintf "hello" > /app/hello.txt\n';
const found = async (t: TestContext, files: Files) => {
  const toml = { 'task.toml': '[agent]\ntimeout_sec = 60\n' };
  const { findings } = await checkStatically(await loadTask(await taskDirectory(t, { ...toml, ...files })));
  return findings.map(({ severity, rule, file }) => `${severity} ${rule} ${file ?? ''}`.trim());
};

test('a sound task has no findings', async (t) => {
  assert.deepEqual(await found(t, {}), []);
});

test('a task that nothing shows to be solvable, and one without time limit, are told', async (t) => {
  assert.deepEqual(await found(t, { 'solution/solve.sh': undefined }), ['warning no_oracle']);
  assert.deepEqual(await found(t, { 'task.toml': '' }), ['note no_agent_timeout task.toml']);
});

test('a grader that installs things is told with its line', async (t) => {
  const script = '#!/bin/bash\npip install pytest\necho 1 > /logs/verifier/reward.txt\n';
  assert.deepEqual(await found(t, { 'tests/test.sh': script }), ['warning installs_at_grade_time tests/test.sh']);
});

test('tests that never write a reward are told', async (t) => {
  assert.deepEqual(await found(t, { 'tests/test.sh': 'pytest\n' }), ['warning no_reward_written tests']);
  assert.deepEqual(
    await found(t, { 'tests/test.sh': 'exec ./judge\n', 'tests/judge': 'open("/logs/verifier/reward.json")' }),
    [],
  );
});

test('the solution in the environment is an error, a test in it a warning', async (t) => {
  const solution = { 'solution/solve.sh': SOLUTION, 'environment/tools/old.sh': SOLUTION };
  assert.deepEqual(await found(t, solution), ['error answer_in_environment environment/tools/old.sh']);
  const data = 'a,b,c\n'.repeat(20);
  const tests = { 'tests/data.csv': data, 'environment/data.csv': data };
  assert.deepEqual(await found(t, tests), ['warning answer_in_environment environment/data.csv']);
});

test('warnings about the format are findings', async (t) => {
  assert.deepEqual(await found(t, { 'task.toml': '[agent]\ntimeout_sec = 1\nusr = "x"\n' }), [
    'warning format task.toml',
  ]);
});
