import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { agentConfig } from '../agent/agent.ts';
import { temporary, writeTask } from '../task/testing/task-directory.ts';
import type { JobRequest } from './config.ts';
import { startJob, startUnnamedJob } from './start.ts';
import { taskWarnings } from './task-warnings.ts';

async function request(t: TestContext, more: Partial<JobRequest> = {}, toml = ''): Promise<JobRequest> {
  const dir = await temporary(t);
  await writeTask(join(dir, 'set/one'), { 'task.toml': toml });
  return {
    path: join(dir, 'set'),
    jobsDir: join(dir, 'jobs'),
    jobName: 'now',
    id: 'id',
    agent: agentConfig('nop'),
    ...more,
  };
}

test('two jobs may begin in the same second; a name that was asked for is never changed', async (t) => {
  const asked = await request(t);
  const names = [await startUnnamedJob(asked), await startUnnamedJob(asked), await startUnnamedJob(asked)].map(
    ({ directory }) => directory.config.job_name,
  );
  assert.deepEqual(names, ['now', 'now-2', 'now-3']);
  await assert.rejects(startJob(asked), { code: 'job_exists' });
});

test('a misspelt field of a task is told when the job begins', async (t) => {
  const { warnings } = await startJob(await request(t, {}, '[agent]\ntimout_sec = 5\n'));
  assert.deepEqual(warnings, ['one: task.toml: agent.timout_sec is unknown and ignored; did you mean "timeout_sec"?']);
});

test('of many warnings the first are told, and how many more there are', () => {
  const warnings = Array.from({ length: 30 }, (_, i) => ({ file: `t${i}`, field: null, message: 'is odd' }));
  const lines = taskWarnings({ tasks: [], warnings });
  assert.equal(lines.length, 21);
  assert.match(lines.at(-1)!, /10 more/);
});

test('an address of a model that is none, and an agent that does nothing by mistake, are refused before anything runs', async (t) => {
  const wrong = await request(t, { details: { modelUrl: 'localhost:8000' } });
  await assert.rejects(startJob(wrong), /--model-url\) is no URL: localhost:8000/);
  assert.throws(() => agentConfig(' '), /empty command/);
  assert.throws(() => agentConfig('host: '), /empty command/);
});
