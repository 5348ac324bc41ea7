/** `viv eval` against a real node: what a trial does, what is kept of it, and what each kind of agent gets. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { collect } from '@vivarium/sdk';
import { IMAGE, runViv, startTestNode, type TestNode } from '../harness/node.ts';
import { outcomes, TaskSet, TOML } from '../harness/task-set.ts';

let node: TestNode;
const set = new TaskSet();

before(async () => {
  node = await startTestNode();
});
after(async () => {
  set[Symbol.dispose]();
  await node.purge();
});

const liveOnes = () => collect(node.viv.sandboxes.list({ states: ['creating', 'running', 'paused'] }));

test('the oracle passes, doing nothing fails, and the job is on disk as other tools read it', async () => {
  const dir = set.task('plain', 'one');
  set.task('plain', 'two');
  const oracle = set.run(node, dir, 'oracle', '-a', 'oracle', '-k', '2');
  assert.equal(oracle.code, 0, oracle.stderr);
  assert.deepEqual(oracle.job.vivarium.outcomes, { passed: 4 });
  assert.deepEqual(oracle.job.stats.evals.oracle__plain!.pass_at_k, { 1: 1, 2: 1 });
  const nop = set.run(node, dir, 'nop', '-a', 'nop');
  assert.deepEqual(outcomes(nop.trials), { one: 'failed', two: 'failed' });
  assert.equal(nop.job.stats.evals.nop__plain!.metrics.mean, 0);
  const job = join(set.jobs, 'oracle');
  for (const file of ['config.json', 'lock.json', 'result.json', 'job.log'])
    assert.ok(existsSync(join(job, file)), file);
  const [trial] = oracle.trials;
  assert.match(trial!.trial_name, /^(one|two)__\w{7}$/);
  assert.deepEqual(
    readdirSync(join(job, trial!.trial_name)).filter((name) => !['changes.ndjson', 'trial.log'].includes(name)),
    ['agent', 'artifacts', 'config.json', 'result.json', 'verifier'],
  );
  assert.deepEqual(trial!.verifier_result, { rewards: { reward: 1 } });
  assert.equal(trial!.vivarium.verification?.mode, 'fresh');
  assert.ok(existsSync(join(job, trial!.trial_name, 'verifier/test-stdout.txt')));
  assert.deepEqual(await liveOnes(), []);
});

test('a command gets the instruction on its input and in a file, its variables, user and directory; its logs are kept', () => {
  const toml = `${TOML}env = { FROM_TASK = "\${VIV_E2E_UNSET:-preset}" }\n`.replace(
    '[verifier]',
    'user = "nobody"\n[verifier]',
  );
  const dir = set.task('command', 'one', { 'task.toml': toml });
  const command = [
    'cat; cmp -s /dev/stdin /dev/null; id -un; pwd; echo $FROM_TASK $EXTRA $MODEL;',
    'grep -c hello $VIV_INSTRUCTION; echo log > /logs/agent/mine.txt; mkdir -p /logs/artifacts/d;',
    'echo art > /logs/artifacts/d/a.txt; echo trouble >&2; exit 3',
  ].join(' ');
  const { trials } = set.run(node, dir, 'command', '-a', command, '--ae', 'EXTRA=x y', '-m', 'maker/m1');
  const [trial] = trials;
  assert.equal(trial!.vivarium.outcome, 'agent_error');
  assert.deepEqual(trial!.verifier_result, { rewards: { reward: 0 } }, 'it was graded all the same');
  assert.equal(trial!.agent_result?.exit_code, 3);
  const stdout = set.file('command', trial!, 'agent/stdout.txt');
  assert.equal(stdout, 'Write hello to /srv/hello.txt.\nnobody\n/srv\npreset x y maker/m1\n1\n');
  assert.equal(set.file('command', trial!, 'agent/stderr.txt'), 'trouble\n');
  assert.equal(set.file('command', trial!, 'agent/mine.txt'), 'log\n');
  assert.equal(set.file('command', trial!, 'artifacts/d/a.txt'), 'art\n');
  assert.deepEqual(trial!.agent_info.model_info, { name: 'm1', provider: 'maker' });
});

test('a model outside answers on localhost inside, with a header that the sandbox never sees', async () => {
  const dir = set.task('model', 'one');
  // A process of its own: runViv holds this one while it runs.
  const program = `require('http').createServer((q, r) => r.end(q.url + ' ' + q.headers['x-secret'])).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`;
  const model = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [port] = (await once(model.stdout, 'data')) as [Buffer];
    const ask = `python3 -c "import os, urllib.request as u; print(u.urlopen(os.environ['OPENAI_BASE_URL'] + '/models').read().decode())"; env | grep -c s3cret`;
    const url = `http://127.0.0.1:${String(port).trim()}/v1`;
    const { trials } = set.run(node, dir, 'model', '-a', ask, '--model-url', url, '--model-header', 'x-secret=s3cret');
    assert.equal(set.file('model', trials[0]!, 'agent/stdout.txt'), '/v1/models s3cret\n0\n');
  } finally {
    model.kill('SIGKILL');
  }
});

test('an agent beside the sandbox works on it with the CLI', () => {
  const dir = set.task('beside', 'one');
  const viv = join(import.meta.dirname, '../../bin/viv');
  const { trials } = set.run(
    node,
    dir,
    'beside',
    '-a',
    `host: ${viv} exec $VIV_SANDBOX -- sh -c "printf hello > hello.txt; pwd"`,
  );
  assert.equal(trials[0]!.vivarium.outcome, 'failed', 'viv exec starts in the image’s directory, not the workdir');
  const there = `host: ${viv} exec -w $VIV_WORKDIR $VIV_SANDBOX -- sh -c "printf hello > hello.txt"`;
  assert.equal(set.run(node, dir, 'beside2', '-a', there).trials[0]!.vivarium.outcome, 'passed');
  const slow = set.run(
    node,
    dir,
    'beside3',
    '-a',
    'host: sleep 1000 & sleep 1000',
    '--agent-timeout-multiplier',
    '0.01',
  );
  assert.equal(slow.trials[0]!.vivarium.outcome, 'agent_timeout');
});

test('a trial opens in the state that it ended in, and says what was changed', () => {
  const dir = set.task('open', 'one');
  const { trials } = set.run(node, dir, 'open', '-a', 'oracle');
  const name = trials[0]!.trial_name;
  const at = ['-o', set.jobs];
  const opened = runViv(node, ['trial', 'open', name, ...at, '--', 'cat', '/srv/hello.txt']);
  assert.deepEqual({ code: opened.code, stdout: opened.stdout }, { code: 0, stdout: 'hello' });
  assert.match(runViv(node, ['trial', 'diff', name, ...at]).stdout, /^A {2}\/srv\/hello.txt$/m);
  assert.match(runViv(node, ['trial', 'show', name, ...at]).stdout, /outcome +passed/);
  assert.match(runViv(node, ['job', 'show', 'open', ...at]).stdout, /1 of 1 trials: 1 passed/);
  assert.equal(runViv(node, ['trial', 'show', 'nothing', ...at]).code, 3);
});

test('saved work is graded again with other tests, and no agent runs', () => {
  const dir = set.task('again', 'one');
  set.task('again', 'two');
  set.run(node, dir, 'again', '-a', 'oracle');
  const strict = set.task('strict-tests', 'one', {
    'tests/test.sh': '#!/bin/bash\necho 0.25 > /logs/verifier/reward.txt\n',
  });
  set.task('strict-tests', 'two');
  const args = ['job', 'regrade', 'again', '-o', set.jobs, '--tests', strict, '-q', '--json'];
  const { code, stdout, stderr } = runViv(node, args);
  assert.equal(code, 0, stderr);
  assert.deepEqual((JSON.parse(stdout) as { vivarium: unknown }).vivarium !== undefined, true);
  const again = set.trials('again__regrade-1');
  assert.deepEqual(outcomes(again), { one: 'failed', two: 'passed' });
  assert.deepEqual(again.find(({ task_name }) => task_name === 'one')!.verifier_result, { rewards: { reward: 0.25 } });
  assert.deepEqual(outcomes(set.trials('again')), { one: 'passed', two: 'passed' }, 'the first results stay');
  const name = again.find(({ task_name }) => task_name === 'one')!.trial_name;
  const at = ['-o', set.jobs];
  assert.match(runViv(node, ['trial', 'show', name, ...at]).stdout, /outcome +failed/, 'the newest grade is shown');
  assert.match(runViv(node, ['trial', 'show', `again/${name}`, ...at]).stdout, /outcome +passed/);
  assert.match(runViv(node, ['trial', 'diff', name, ...at]).stdout, /^A {2}\/srv\/hello.txt$/m);
});

test('tests that are not there are said before a regrade begins', () => {
  const dir = set.task('untested', 'one');
  set.run(node, dir, 'untested', '-a', 'nop');
  const regrade = (tests: string) =>
    runViv(node, ['job', 'regrade', 'untested', '-o', set.jobs, '--tests', join(dir, tests)]);
  assert.match(regrade('nowhere').stderr, /^viv: there is no directory .*nowhere$/m);
  const { code, stderr } = regrade('one/solution');
  assert.equal(code, 2);
  assert.match(stderr, /^viv: .*solution holds no tests of task one$/m);
  assert.equal(existsSync(join(set.jobs, 'untested__regrade-1')), false);
});

test('removing a job removes the states of its trials', async () => {
  const dir = set.task('remove', 'one');
  set.run(node, dir, 'remove', '-a', 'oracle', '-k', '2');
  const states = async () =>
    (await collect(node.viv.images.list())).filter(({ name }) => name.startsWith('trial/')).length;
  const before = await states();
  assert.equal(runViv(node, ['job', 'rm', 'remove', '-o', set.jobs]).code, 0);
  assert.equal(await states(), before - 4);
  assert.equal(existsSync(join(set.jobs, 'remove')), false);
});

test('declared artifacts arrive, without what is excluded; missing ones are noted', () => {
  const toml = `artifacts = ["/srv/out", { source = "/srv/tree", destination = "kept", exclude = ["*.o"] }, "/srv/none"]\n${TOML}`;
  const dir = set.task('artifacts', 'one', { 'task.toml': toml });
  const make = 'echo 1 > out; mkdir -p tree/sub; echo c > tree/sub/a.c; echo o > tree/sub/a.o';
  const [trial] = set.run(node, dir, 'artifacts', '-a', make).trials;
  assert.equal(set.file('artifacts', trial!, 'artifacts/out'), '1\n');
  assert.equal(set.file('artifacts', trial!, 'artifacts/kept/sub/a.c'), 'c\n');
  assert.throws(() => set.file('artifacts', trial!, 'artifacts/kept/sub/a.o'));
  assert.deepEqual(trial!.vivarium.notes, ['artifact /srv/none is not there']);
});

test('a separate verifier gets the declared artifacts and nothing else', () => {
  const toml = `artifacts = ["/srv/hello.txt"]\n${TOML}[verifier.environment]\ndocker_image = "base/debian@12"\n`;
  const check = '[ -e /srv/hello.txt ] && [ ! -e /srv/other ] && [ -e /logs/artifacts/x ] && echo 1 || echo 0';
  const dir = set.task('separate', 'one', {
    'task.toml': toml,
    'tests/test.sh': `#!/bin/bash\n(${check}) > /logs/verifier/reward.txt\n`,
  });
  const result = set.run(node, dir, 'separate', '-a', 'touch hello.txt other; touch /logs/artifacts/x', '-r', '0');
  const [trial] = result.trials;
  assert.equal(trial!.vivarium.outcome, 'passed', JSON.stringify(trial!.exception_info));
  assert.equal(trial!.vivarium.verification?.mode, 'separate');
  const again = runViv(node, ['job', 'regrade', 'separate', '-o', set.jobs, '-q']);
  assert.equal(again.code, 0, again.stderr);
  assert.deepEqual(outcomes(set.trials('separate__regrade-1')), { one: 'passed' });
});

test('the test.sh in the image of a separate verifier need not be executable', () => {
  const dir = set.task('unmarked', 'one', {
    'task.toml': `artifacts = ["/srv/hello.txt"]\n${TOML}[verifier.environment]\n`,
    'tests/Dockerfile': `FROM ${IMAGE}\nCOPY . /tests/\n`,
  });
  chmodSync(join(dir, 'one/tests/test.sh'), 0o644);
  const [trial] = set.run(node, dir, 'unmarked', '-a', 'oracle').trials;
  assert.equal(trial!.vivarium.outcome, 'passed', JSON.stringify(trial!.exception_info));
});

test('a task of steps: one sandbox, each step set up, worked on and graded; too low a reward ends it', () => {
  const step = (name: string) => ({
    [`steps/${name}/instruction.md`]: `Make ${name}.\n`,
    [`steps/${name}/tests/test.sh`]: `#!/bin/bash\n[ -e /srv/${name} ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n`,
    [`steps/${name}/solution/solve.sh`]: `#!/bin/bash\ntouch ${name}\n`,
  });
  const files = {
    'task.toml': `${TOML}[[steps]]\nname = "a"\nmin_reward = 1.0\n[[steps]]\nname = "b"\n`,
    'instruction.md': null,
    'tests/test.sh': null,
    'solution/solve.sh': null,
    ...step('a'),
    ...step('b'),
    'steps/b/workdir/given': 'given',
    'steps/b/workdir/setup.sh': '#!/bin/bash\ncp given set-up\n',
    'steps/b/tests/test.sh':
      '#!/bin/bash\n[ -e /srv/a ] && [ -e /srv/b ] && [ -e /srv/set-up ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt\n',
  };
  const dir = set.task('steps', 'one', files);
  const [good] = set.run(node, dir, 'steps', '-a', 'oracle', '-r', '0').trials;
  assert.equal(good!.vivarium.outcome, 'passed', JSON.stringify(good!.exception_info));
  assert.deepEqual(
    good!.step_results?.map(({ step_name }) => step_name),
    ['a', 'b'],
  );
  assert.ok(existsSync(join(set.jobs, 'steps', good!.trial_name, 'steps/b/verifier/reward.txt')));
  const [bad] = set.run(node, dir, 'steps2', '-a', 'nop').trials;
  assert.equal(bad!.vivarium.outcome, 'failed');
  assert.deepEqual(
    bad!.step_results?.map(({ step_name }) => step_name),
    ['a'],
  );
  const again = runViv(node, ['job', 'regrade', 'steps', '-o', set.jobs, '-q']);
  assert.equal(again.code, 0, again.stderr);
  assert.deepEqual(outcomes(set.trials('steps__regrade-1')), { one: 'passed' });
});

test('nothing of a node’s key or address is in what a job stores, and its config is its owner’s alone', () => {
  const config = readFileSync(join(set.jobs, 'command/config.json'), 'utf8');
  assert.ok(!config.includes(node.key));
  assert.equal(runViv(node, ['job', 'ls', '-o', set.jobs]).code, 0);
});
