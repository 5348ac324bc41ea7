/** `viv eval` of tasks with services: graded in place beside them, or in a fresh sandbox that starts them anew. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { collect } from '@vivarium/sdk';
import { runViv, startTestNode, type TestNode } from '../harness/node.ts';
import { outcomes, type TaskFiles, TaskSet, TOML } from '../harness/task-set.ts';

let node: TestNode;
const set = new TaskSet();

before(async () => {
  node = await startTestNode();
});
after(async () => {
  set[Symbol.dispose]();
  await node.purge();
});

const HEALTH = `[environment.healthcheck]\ncommand = "curl -sf http://127.0.0.1:8000/ > /dev/null"\ninterval_sec = 0.1\nretries = 100\n`;
/** A web server as nobody, over /srv. */
const WEB = `services = [{ name = "web", command = "echo begun; cd /srv && exec python3 -m http.server 8000", user = "nobody" }]\n`;

/** Solved when the live server has /hello.txt. */
const ASKS: TaskFiles = {
  'tests/test.sh': `#!/bin/bash
url=http://127.0.0.1:8000/hello.txt
[ "$(curl -sf $url || wget -q -O - $url)" = hello ] && r=1 || r=0
ps; echo $r > /logs/verifier/reward.txt
`,
};

function task(name: string, ours: string, files: TaskFiles = {}, health = HEALTH): string {
  return set.task(name, 'one', { ...ASKS, 'task.toml': `${TOML}${health}[vivarium]\n${ours}`, ...files });
}

function regraded(job: string) {
  const { code, stderr } = runViv(node, ['job', 'regrade', job, '-o', set.jobs, '-q']);
  assert.equal(code, 0, stderr);
  return set.trials(`${job}__regrade-1`);
}

test('a service is alive from before the agent’s first step to the end of a grade in place; the agent’s orphan is not', async () => {
  const dir = task('live', `verification = "in_place"\n${WEB}`);
  const agent = [
    'curl -sf http://127.0.0.1:8000/ > /dev/null || exit 9',
    'setsid -f sh -c "while :; do echo 1 > /logs/verifier/reward.txt; sleep 0.01; done # orphan" < /dev/null > /dev/null 2>&1',
  ].join('; ');
  const { trials } = set.run(node, dir, 'live', '-a', `${agent}; printf hello > hello.txt`);
  const [trial] = trials;
  assert.equal(trial!.vivarium.outcome, 'passed', JSON.stringify(trial));
  assert.equal(trial!.vivarium.verification?.mode, 'in_place');
  const output = set.file('live', trial!, 'verifier/test-stdout.txt');
  assert.match(output, /http\.server/);
  assert.doesNotMatch(output, /orphan/);
  const wrong = set.run(node, dir, 'live-wrong', '-a', `${agent}; printf other > hello.txt`);
  assert.deepEqual(outcomes(wrong.trials), { one: 'failed' }, 'the orphan writes no reward');
  const sandboxes = await collect(node.viv.sandboxes.list({ states: ['creating', 'running', 'paused'] }));
  assert.deepEqual(sandboxes, []);
});

test('who puts a server of its own in the place of the service has none when the tests begin', () => {
  const dir = task('fake', `verification = "in_place"\n${WEB}`);
  const agent =
    'pkill -x python3; sleep 0.2; printf hello > hello.txt; setsid -f python3 -m http.server 8000 < /dev/null > /dev/null 2>&1; until curl -sf http://127.0.0.1:8000/; do sleep 0.1; done';
  const [trial] = set.run(node, dir, 'fake', '-a', agent).trials;
  assert.equal(trial!.vivarium.outcome, 'failed');
  assert.match(trial!.vivarium.notes.join('\n'), /a service had ended before the tests: `.*http\.server.*` .*signal/);
});

test('a service that ends while the environment starts is build_error, with its output, also when it ends well', () => {
  for (const [name, command, why] of [
    [
      'dies',
      'echo no such configuration >&2; exit 3',
      /the service web did not stay: .* exited with 3: no such config/,
    ],
    ['leaves', 'sleep 1000 & exit 0', /did not stay: .* exited with 0/],
  ] as const) {
    for (const health of [HEALTH, '']) {
      const job = `${name}-${health.length}`;
      const dir = task(job, `services = [{ name = "web", command = "${command}" }]\n`, {}, health);
      const [trial] = set.run(node, dir, job, '-a', 'nop').trials;
      assert.equal(trial!.vivarium.outcome, 'build_error', job);
      assert.match(trial!.exception_info!.exception_message, why);
    }
  }
});

test('services run in a fresh verifier when the task asks for it, from what the agent left, and not else', () => {
  const served = task('served', `services_in_verifier = true\n${WEB}`);
  const oracle = set.run(node, served, 'served', '-a', 'oracle');
  assert.deepEqual(outcomes(oracle.trials), { one: 'passed' }, JSON.stringify(oracle.trials));
  assert.equal(oracle.trials[0]!.vivarium.verification?.mode, 'fresh');
  const again = regraded('served');
  assert.deepEqual(outcomes(again), { one: 'passed' });
  const alone = task('alone', WEB);
  assert.deepEqual(outcomes(set.run(node, alone, 'alone', '-a', 'oracle').trials), { one: 'failed' });
});

test('an agent that breaks a service has its grade: the tests begin without it, and a note says why', () => {
  const command = 'echo begun; test ! -e /srv/broken && cd /srv && exec python3 -m http.server 8000';
  const dir = task('broken', `services_in_verifier = true\nservices = ["${command}"]\n`);
  const [trial] = set.run(node, dir, 'broken', '-a', 'touch broken; printf hello > hello.txt').trials;
  assert.equal(trial!.vivarium.outcome, 'failed', JSON.stringify(trial));
  assert.match(trial!.vivarium.notes.join('\n'), /verifier's services .* service-1 did not stay: .*begun/);
});

test('what was graded beside live services keeps its result in a regrade', () => {
  const dir = task('kept', `verification = "in_place"\n${WEB}`);
  set.run(node, dir, 'kept', '-a', 'oracle');
  const [again] = regraded('kept');
  assert.equal(again!.vivarium.outcome, 'passed');
  assert.match(again!.vivarium.notes.join('\n'), /live services, which no state keeps: not graded again/);
});
