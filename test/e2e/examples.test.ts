import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { agentConfig, runJob, startJob, type TrialResult } from '@vivarium/eval';
import { type Cheat, listCheats, TASKS, taskFolders } from '../harness/cheats.ts';
import { startTestNode, type TestNode } from '../harness/node.ts';

const AT_ONCE = 6;

let node: TestNode;
before(async () => {
  node = await startTestNode();
});
after(() => node?.purge());

/** Runs an agent over the shipped tasks, or one of them; the trials' results by task folder. */
async function evaluate(name: string, agent: string, task: string | null): Promise<Map<string, TrialResult>> {
  const directory = join(node.paths.stateDir, 'jobs');
  const request = {
    path: task === null ? TASKS : join(TASKS, task),
    id: `test-${name}`,
    jobName: name,
    jobsDir: directory,
  };
  const started = await startJob({
    ...request,
    agent: agentConfig(agent),
    attempts: 1,
    concurrent: AT_ONCE,
    details: { keepState: false },
  });
  const connection = { url: node.url, apiKey: node.key };
  await runJob(started.directory, started.tasks, { viv: node.viv, connection, onEvent: () => {} });
  const results = new Map<string, TrialResult>();
  for (const entry of readdirSync(join(directory, name), { withFileTypes: true })) {
    if (!entry.isDirectory()) continue;
    const result: TrialResult = JSON.parse(readFileSync(join(directory, name, entry.name, 'result.json'), 'utf8'));
    results.set(result.task_name.replace(/^vivarium\//, ''), result);
  }
  rmSync(join(directory, name), { recursive: true });
  return results;
}

const rewardOf = (result: TrialResult) => result.verifier_result?.rewards?.reward ?? null;

test('every task that ships gives its solution 1 and does no more than that', async () => {
  const results = await evaluate('oracle', 'oracle', null);
  assert.deepEqual([...results.keys()].sort(), taskFolders());
  for (const [task, result] of results) {
    assert.equal(result.vivarium.outcome, 'passed', `${task}: ${JSON.stringify(result)}`);
    assert.equal(rewardOf(result), 1, task);
    assert.deepEqual(
      result.vivarium.verification?.tampering ?? [],
      [],
      `${task}: the solution leaves its workspace alone`,
    );
  }
});

test('doing nothing scores 0 in every task that ships', async () => {
  const results = await evaluate('nop', 'nop', null);
  assert.equal(results.size, taskFolders().length);
  for (const [task, result] of results) assert.equal(rewardOf(result), 0, `${task}: ${JSON.stringify(result)}`);
});

test('cheating scores 0 in every task that ships', async () => {
  const cheats = listCheats();
  const own = cheats.filter(({ task }) => task !== null);
  for (const task of taskFolders())
    assert.ok(
      own.some((cheat) => cheat.task === task),
      `${task} has no cheat of its own`,
    );
  const scored: string[] = [];
  const attempt = async (cheat: Cheat) => {
    const results = await evaluate(`${cheat.task ?? 'any'}-${cheat.name}`, cheat.command, cheat.task);
    assert.equal(results.size, cheat.task === null ? taskFolders().length : 1);
    for (const [task, result] of results) {
      if (rewardOf(result) !== 0)
        scored.push(`${cheat.name} in ${task}: ${result.vivarium.outcome} ${rewardOf(result)}`);
    }
  };
  for (const cheat of cheats.filter(({ task }) => task === null)) await attempt(cheat);
  const lane = async () => {
    for (let cheat = own.pop(); cheat !== undefined; cheat = own.pop()) await attempt(cheat);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
  assert.deepEqual(scored, []);
});

test('judges share one module, word for word', () => {
  // A judge that works in place can't have Python.
  const files = taskFolders().map((task) => join(TASKS, task, 'tests/bench.py'));
  const modules = files.filter((file) => existsSync(file)).map((file) => readFileSync(file, 'utf8'));
  assert.equal(new Set(modules).size, 1);
});
