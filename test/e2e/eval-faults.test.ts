/** What goes wrong in tasks and trials, and what `viv eval` says of it: never a reward of 0 for a fault that is not the agent's. */
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { collect } from '@vivarium/sdk';
import { startTestNode, type TestNode } from '../harness/node.ts';
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

const reward = (command: string): TaskFiles => ({ 'tests/test.sh': `#!/bin/bash\n${command}\n` });
const dockerfile = (text: string): TaskFiles => ({
  'task.toml': TOML.replace(/docker_image.*\n/, 'build_timeout_sec = 20\n'),
  'environment/Dockerfile': text,
});

test('tasks that can not run are refused beside the ones that can, each with its reason', () => {
  const dir = set.task('broken', 'good');
  set.task('broken', 'broken-toml', { 'task.toml': '[agent\n' });
  set.task('broken', 'no-tests', { 'tests/test.sh': null });
  set.task('broken', 'gpus', { 'task.toml': `${TOML}gpus = 2\n` });
  set.task('broken', 'leaves');
  symlinkSync('/etc/passwd', join(dir, 'leaves/tests/data'));
  set.task('broken', 'crlf', {
    'tests/test.sh': '#!/bin/bash\r\necho 1 > /logs/verifier/reward.txt\r\n',
    'instruction.md': 'Do it.\r\n',
  });
  set.task('broken', 'odd-field', { 'task.toml': `${TOML}memory_md = 5\n` });
  mkdirSync(join(dir, 'no-task-toml'));
  const { code, trials } = set.run(node, dir, 'broken', '-a', 'oracle');
  assert.equal(code, 0);
  assert.deepEqual(outcomes(trials), {
    'broken-toml': 'refused',
    crlf: 'passed',
    good: 'passed',
    gpus: 'refused',
    leaves: 'refused',
    'no-tests': 'refused',
    'odd-field': 'passed',
  });
  const reason = (name: string) =>
    trials.find(({ task_name }) => task_name === name)!.exception_info!.exception_message;
  assert.match(reason('broken-toml'), /task\.toml/);
  assert.match(reason('gpus'), /gpus/);
  assert.match(reason('leaves'), /tests\/data/);
});

test('no task at all, two of one name and an unknown name end the job before it begins', () => {
  mkdirSync(join(set.root, 'empty'));
  const empty = set.task('twins', 'a', { 'task.toml': `[task]\nname = "same/one"\n${TOML}` });
  set.task('twins', 'b', { 'task.toml': `[task]\nname = "same/one"\n${TOML}` });
  const codes = [join(set.root, 'empty'), empty, join(set.root, 'nowhere')].map((dir) => {
    const { code, stderr } = set.run(node, dir, `none-${dir.split('/').at(-1)}`, '-a', 'nop');
    return [code, stderr.split('\n')[0]] as const;
  });
  assert.deepEqual(
    codes.map(([code]) => code),
    [2, 2, 2],
  );
  assert.match(codes[0]![1]!, /holds no task/);
  assert.match(codes[1]![1]!, /a and b/);
  assert.match(codes[2]![1]!, /no directory/);
});

test('an image that can not be built is build_error, and leaves no sandbox', async () => {
  const dir = set.task('builds', 'unknown-from', dockerfile('FROM nobody/nothing:9\n'));
  set.task('builds', 'hangs', dockerfile('FROM base/debian@12\nRUN sleep 1000\n'));
  set.task('builds', 'fails', dockerfile('FROM base/debian@12\nRUN echo the reason; exit 3\n'));
  set.task('builds', 'unhealthy', {
    'task.toml': `${TOML}[environment.healthcheck]\ncommand = "false"\ninterval_sec = 0.1\nretries = 2\n`,
  });
  set.task('builds', 'nowhere', { 'task.toml': TOML.replace('/srv', '/nowhere') });
  const { trials } = set.run(node, dir, 'builds', '-a', 'oracle', '-k', '2', '-r', '0');
  assert.equal(trials.length, 10);
  for (const trial of trials) assert.equal(trial.vivarium.outcome, 'build_error', trial.task_name);
  const reason = (name: string) =>
    trials.find(({ task_name }) => task_name === name)!.exception_info!.exception_message;
  assert.match(reason('unknown-from'), /nobody\/nothing/);
  assert.match(reason('fails'), /Dockerfile:2/);
  assert.match(reason('unhealthy'), /healthy/);
  assert.match(reason('nowhere'), /no directory \/nowhere/);
  assert.deepEqual(await collect(node.viv.sandboxes.list({ states: ['creating', 'running', 'paused'] })), []);
});

test('a verifier that gives no reward is verifier_error, whatever the reason', () => {
  const dir = set.task('verifiers', 'silent', reward('true'));
  set.task('verifiers', 'nan', reward('echo nan > /logs/verifier/reward.txt'));
  set.task('verifiers', 'huge', reward('head -c 2000000000 /dev/zero > /logs/verifier/reward.txt'));
  set.task('verifiers', 'nested', reward('echo \'{"reward": {"a": 1}}\' > /logs/verifier/reward.json'));
  set.task('verifiers', 'endless', {
    ...reward('echo 1 > /logs/verifier/reward.txt; sleep 1000'),
    'task.toml': TOML.replace('[verifier]\ntimeout_sec = 60', '[verifier]\ntimeout_sec = 2'),
  });
  set.task('verifiers', 'network', reward('curl -sf http://example.invalid/x && echo 1 > /logs/verifier/reward.txt'));
  set.task('verifiers', 'memory', {
    ...reward('python3 -c "x = bytearray(2 << 30)" && echo 1 > /logs/verifier/reward.txt'),
    'task.toml': `${TOML}memory_mb = 256\n`,
  });
  set.task('verifiers', 'killed', reward('kill -9 $$; echo 1 > /logs/verifier/reward.txt'));
  const { job, trials } = set.run(node, dir, 'verifiers', '-a', 'nop');
  for (const trial of trials) {
    assert.equal(trial.vivarium.outcome, 'verifier_error', trial.task_name);
    assert.equal(trial.verifier_result, null);
    assert.ok(trial.vivarium.verification?.rewardError, trial.task_name);
  }
  assert.equal(trials.length, 8);
  assert.equal(job.stats.evals.nop__verifiers!.metrics.mean, null);
});

test('an agent that kills every process, hangs or eats its memory has its outcome and its grade', () => {
  const task = (name: string, toml: string) => set.task(name, 'one', { 'task.toml': `${toml}memory_mb = 256\n` });
  const ample = task('agents', TOML);
  const tight = task('hurried-agents', TOML.replace('timeout_sec = 60', 'timeout_sec = 2'));
  const outcome = (job: string, command: string, dir = ample) => {
    const [trial] = set.run(node, dir, job, '-a', command, '-r', '0').trials;
    return [trial!.vivarium.outcome, trial!.verifier_result?.rewards.reward];
  };
  assert.deepEqual(outcome('kills', 'printf hello > hello.txt; kill -9 -1'), ['agent_error', 1]);
  assert.deepEqual(outcome('hangs', 'printf hello > hello.txt; sleep 1000', tight), ['agent_timeout', 1]);
  assert.deepEqual(outcome('eats', 'python3 -c "x = bytearray(2 << 30)"'), ['agent_error', 0]);
  assert.deepEqual(outcome('floods', 'head -c 300000000 /dev/zero > /logs/agent/big; exit 0'), ['failed', 0]);
});

test('what the node can not give is refused, not failed', () => {
  const dir = set.task('limits', 'one');
  const [trial] = set.run(node, dir, 'limits', '-a', 'nop', '--override-cpus', '5000').trials;
  assert.equal(trial!.vivarium.outcome, 'refused');
});

test('without a server the job ends with its reason, and can be resumed', () => {
  const dir = set.task('away', 'one');
  const { code, stderr } = set.run({ ...node, url: 'http://127.0.0.1:1' }, dir, 'away', '-a', 'nop');
  assert.equal(code, 6);
  assert.match(stderr, /can't reach/);
});

test('a job name that is taken and one that is no name are refused', () => {
  const dir = set.task('names', 'one');
  set.run(node, dir, 'taken', '-a', 'nop');
  assert.equal(set.run(node, dir, 'taken', '-a', 'nop').code, 4);
  writeFileSync(join(set.root, 'file'), '');
  assert.match(set.run(node, dir, '../outside', '-a', 'nop').stderr, /not a job name/);
});
