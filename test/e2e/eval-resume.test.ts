/** Kill -9 of client and server in the middle of a job: `viv job resume` runs what is left, nothing twice, nothing lost. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { collect } from '@vivarium/sdk';
import { crashResume } from '../../bench/eval/crash-resume.ts';
import { runViv, startTestNode, type TestNode } from '../harness/node.ts';
import { TaskSet } from '../harness/task-set.ts';

let node: TestNode;
const set = new TaskSet();

before(async () => {
  node = await startTestNode();
});
after(async () => {
  set[Symbol.dispose]();
  await node.purge();
});

test('client and server killed in mid-run, the server once more while the job goes on: every trial has one result', async () => {
  const dir = set.task('crash', 'one');
  const bed = {
    url: node.url,
    key: node.key,
    viv: node.viv,
    crash: async () => {
      await node.kill9();
      await node.start();
    },
  };
  assert.deepEqual(await crashResume(bed, { dir, jobs: set.jobs, count: 30 }), { resume_twice: 0, resume_lost: 0 });
});

function evaluate(dir: string, job: string, ...args: string[]): ChildProcess {
  const env = { ...process.env, VIV_URL: node.url, VIV_API_KEY: node.key };
  const viv = join(import.meta.dirname, '../../bin/viv');
  return spawn(viv, ['eval', dir, '-o', set.jobs, '--job-name', job, '-q', ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}

async function untilAgentRuns(job: string): Promise<void> {
  const live = async () => collect(node.viv.sandboxes.list({ labels: { 'viv.role': 'agent' }, states: ['running'] }));
  while (!existsSync(join(set.jobs, job, 'config.json')) || (await live()).length === 0) await sleep(50);
}

test('one interrupt ends the sandboxes and says how to go on; resuming does', async () => {
  const dir = set.task('interrupt', 'one');
  const child = evaluate(dir, 'interrupt', '-a', 'printf hello > hello.txt; [ -e /tmp/x ] || sleep 2');
  let stderr = '';
  child.stderr!.on('data', (chunk) => {
    stderr += chunk;
  });
  await untilAgentRuns('interrupt');
  const waiting = once(child, 'exit');
  child.kill('SIGINT');
  assert.deepEqual(await waiting, [130, null]);
  assert.match(stderr, /viv job resume/);
  assert.deepEqual(await collect(node.viv.sandboxes.list({ states: ['running', 'paused'] })), []);
  assert.equal(set.trials('interrupt').length, 0);
  assert.match(runViv(node, ['job', 'ls', '-o', set.jobs]).stdout, /interrupt +interrupted +0\/1/);
  assert.equal(runViv(node, ['job', 'resume', 'interrupt', '-o', set.jobs, '-q']).code, 0);
  assert.deepEqual(
    set.trials('interrupt').map(({ vivarium }) => vivarium.outcome),
    ['passed'],
  );
});

test('a job has one runner at a time', async () => {
  const dir = set.task('locked', 'one');
  const child = evaluate(dir, 'locked', '-a', 'sleep 3');
  await untilAgentRuns('locked');
  const { code, stderr } = runViv(node, ['job', 'resume', 'locked', '-o', set.jobs]);
  assert.equal(code, 4);
  assert.match(stderr, new RegExp(`pid ${child.pid}`));
  assert.equal(runViv(node, ['job', 'rm', 'locked', '-o', set.jobs]).code, 4);
  await once(child, 'exit');
});

test('resuming a finished job runs nothing', () => {
  const before = set.trials('interrupt').map(({ id }) => id);
  assert.equal(runViv(node, ['job', 'resume', 'interrupt', '-o', set.jobs, '-q']).code, 0);
  assert.deepEqual(
    set.trials('interrupt').map(({ id }) => id),
    before,
  );
});
