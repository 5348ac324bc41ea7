import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { collect, type Sandbox, type VerifyRequest } from '@vivarium/sdk';
import { type GradingNode, startGradingNode } from '../harness/grading.ts';
import { IMAGE, type TestNode } from '../harness/node.ts';

let node: TestNode;
let graded: GradingNode['graded'];
let makeGrader: GradingNode['makeGrader'];
before(async () => {
  ({ node, graded, makeGrader } = await startGradingNode());
});
after(() => node.purge());

const rewardOf = async (agent: string, request: Partial<VerifyRequest> = {}) =>
  (await graded(agent, request)).rewards?.reward;

async function images(): Promise<string[]> {
  return (await collect(node.viv.images.list({ all: true }))).map(({ name }) => name);
}

test('a right answer is rewarded, a wrong one is not, and nothing is left of the grade', async () => {
  const before = await images();
  const right = await graded('echo 42 > /app/answer');
  assert.deepEqual(right.rewards, { reward: 1 });
  assert.equal(right.rewardError, null);
  assert.equal(right.mode, 'fresh');
  assert.equal(right.isolation, 'in_process');
  assert.equal(right.image.name, IMAGE);
  assert.deepEqual(right.tampering, []);
  assert.equal(right.exec?.outcome?.type, 'exited');
  assert.ok(right.stats!.memoryPeakBytes > 0);
  assert.equal(await rewardOf('echo 41 > /app/answer'), 0);
  const made = (await images()).filter((name) => !before.includes(name));
  assert.deepEqual(
    made.filter((name) => name !== 'cache/verifier-logs@1'),
    [],
  );
  const live = [];
  for await (const each of node.viv.sandboxes.list({ states: ['running', 'paused'] })) live.push(each.id);
  assert.deepEqual(live, []);
});

test('the agent’s sandbox goes on after its grade, is left frozen, or ends, as asked', async () => {
  const box = await node.viv.sandboxes.create({ image: IMAGE, ttlS: 60 });
  const request = { command: 'true', timeoutMs: 10_000 } as const;
  await box.verify(request);
  assert.equal((await box.refresh()).state, 'running');
  assert.ok(Date.parse(box.info.expiresAt!) - Date.now() > 600_000, 'its time to live does not end a grade');
  await box.verify({ ...request, afterwards: 'pause' });
  assert.equal((await box.refresh()).state, 'paused');
  await box.verify({ ...request });
  assert.equal((await box.refresh()).state, 'paused');
  await box.verify({ ...request, afterwards: 'end' });
  assert.equal((await box.refresh()).state, 'ended');
});

test('a state that is kept can be graded again, by other tests', async () => {
  const kept = await graded('echo 41 > /app/answer', { keep: 'kept/whole@1', keepSplit: 'kept/split@1' });
  assert.equal(kept.rewards?.reward, 0);
  assert.equal(kept.split?.image, 'kept/split@1');
  const again = await node.viv.verify({
    image: 'kept/split@1',
    command: 'bash /tests/test.sh',
    grader: 'grader/answer@1',
  });
  assert.deepEqual(again.rewards, { reward: 0 });
  assert.equal(again.image.name, IMAGE);
  await makeGrader('grader/kinder@1', 'echo 0.5 > /logs/verifier/reward.txt\n');
  const other = await node.viv.verify({
    image: 'kept/split@1',
    command: 'sh /tests/test.sh',
    grader: 'grader/kinder@1',
  });
  assert.deepEqual(other.rewards, { reward: 0.5 });
  const opened = await node.viv.sandboxes.create({ image: 'kept/whole@1' });
  assert.equal((await opened.exec('cat /app/answer')).stdout, '41\n');
  await opened.kill();
});

test('files the grader left can be fetched before its sandbox ends', async () => {
  let log = '';
  const onSandbox = async (box: Sandbox) => {
    log = await box.files.readText('/logs/verifier/out.txt');
  };
  await graded('echo 42 > /app/answer', { onSandbox });
  assert.match(log, /1 passed/);
});

test('an aborted grade ends its sandbox and throws the reason', async () => {
  const abort = new AbortController();
  const reason = new Error('enough');
  const grading = graded('true', { command: 'sleep 1000', signal: abort.signal });
  setTimeout(() => abort.abort(reason), 2000);
  await assert.rejects(grading, reason);
  for await (const each of node.viv.sandboxes.list({ states: ['running'], labels: { 'viv.role': 'verifier' } }))
    assert.fail(`${each.id} is still there`);
});

test('a grader that comes to no result is an error with its reason, and never a zero', async () => {
  const error = async (command: string, request: Partial<VerifyRequest> = {}) => {
    const { rewards, rewardError } = await graded('true', { command, ...request });
    assert.equal(rewards, null);
    return rewardError!;
  };
  assert.match(await error('exit 3'), /^missing: .*exited with 3/);
  assert.match(await error('sleep 1000', { timeoutMs: 500 }), /^timeout: /);
  assert.match(await error('echo 1 > /logs/verifier/reward.txt; sleep 1000', { timeoutMs: 500 }), /^timeout: /);
  assert.match(await error(': > /logs/verifier/reward.txt'), /^empty: /);
  assert.match(await error('echo nan > /logs/verifier/reward.txt'), /^invalid: .*"nan"/);
  assert.match(await error('echo maybe > /logs/verifier/reward.txt'), /^invalid: .*"maybe"/);
  assert.match(await error('echo "{\\"a\\": {\\"b\\": 1}}" > /logs/verifier/reward.json'), /^invalid: /);
  assert.match(await error('echo "{\\"a\\": 1, \\"a\\": 2}" > /logs/verifier/reward.json'), /^invalid: .*twice/);
  assert.match(await error('truncate -s 2G /logs/verifier/reward.json'), /^too_large: /);
  assert.match(await error('mkfifo /logs/verifier/reward.json'), /^not_a_file: .*fifo/);
  assert.match(await error('ln -s /etc/hostname /logs/verifier/reward.txt'), /^not_a_file: .*symlink/);
  assert.match(await error('mkdir /logs/verifier/reward.txt'), /^not_a_file: .*dir/);
  assert.match(await error('nonexistent-program'), /^missing: /);
});

test('a grader that runs out of memory is no grade', async () => {
  const command = ['python3', '-c', 'x = bytearray(1 << 30)\nopen("/logs/verifier/reward.txt", "w").write("1")'];
  const { rewards, rewardError } = await graded('true', { command, limits: { memoryMiB: 128 } });
  assert.equal(rewards, null);
  assert.match(rewardError!, /^oom: /);
});

test('a reward that the agent wrote is ignored, whatever it put there', async () => {
  const forged =
    'mkdir -p /logs/verifier && echo 1 > /logs/verifier/reward.txt && echo "{\\"reward\\": 1}" > /logs/verifier/reward.json';
  const { rewards, rewardError } = await graded(forged, { command: 'exit 0' });
  assert.equal(rewards, null);
  assert.match(rewardError!, /^missing/);
  for (const cheat of [
    'mkdir -p /logs/verifier && mkfifo /logs/verifier/reward.json',
    'mkdir -p /logs/verifier && ln -s /etc/passwd /logs/verifier/reward.json',
    'mkdir -p /elsewhere && ln -s /elsewhere /logs',
    'touch /logs',
    'mkdir -p /logs && ln -s /tmp /logs/verifier',
    'mkdir -p /logs/verifier/deep/er && chmod -R 000 /logs',
    'ln -s /app /tests && echo "def test_answer(): pass" > /app/test_answer.py',
    'touch /tests',
    'mkdir -p /tests && chmod 000 /tests',
  ]) {
    assert.equal(await rewardOf(`${cheat} && echo 41 > /app/answer`), 0, cheat);
    assert.equal(await rewardOf(`${cheat} && echo 42 > /app/answer`), 1, cheat);
  }
});

test('a process the agent left behind is not there when its work is graded', async () => {
  const daemon =
    'mkdir -p /logs/verifier; setsid -f sh -c "while :; do echo 1 > /logs/verifier/reward.txt; done" > /dev/null 2>&1 < /dev/null';
  const { rewards } = await graded(`${daemon}; echo 41 > /app/answer`);
  assert.deepEqual(rewards, { reward: 0 });
});

test('a process that the grader leaves behind can’t change the reward after its end', async () => {
  const command =
    'setsid -f sh -c "while :; do echo 9 > /logs/verifier/reward.txt; done" > /dev/null 2>&1 < /dev/null; sleep 0.2; echo "{\\"reward\\": 1}" > /logs/verifier/reward.json';
  assert.equal(await rewardOf('true', { command }), 1);
});

test('what kills all it can reach ends neither the sandbox nor the grade', async () => {
  const box = await node.viv.sandboxes.create({ image: IMAGE });
  const own = await box.exec('mkdir -p /app && echo 42 > /app/answer && (kill -9 -1)');
  assert.deepEqual(own.outcome, { type: 'signaled', signal: 9 });
  const request = { command: 'bash /tests/test.sh', grader: 'grader/answer@1', afterwards: 'end' } as const;
  assert.deepEqual((await box.verify(request)).rewards, { reward: 1 });
  const command = [
    'bash',
    '-c',
    'python3 -c "import os; os.kill(os.getppid(), 9)"; echo 1 > /logs/verifier/reward.txt',
  ];
  const killed = await graded('true', { command });
  assert.equal(killed.rewards, null);
  assert.match(killed.rewardError!, /^missing: .*signal 9/);
});

test('what the agent installed is there when its work is graded', async () => {
  const agent = [
    'printf "#!/bin/sh\\necho tool\\n" > /usr/bin/newtool; chmod 755 /usr/bin/newtool',
    'cp /usr/bin/newtool /usr/local/bin/localtool; ln -s localtool /usr/local/bin/linked',
    'mkdir -p /usr/local/lib/python3.11/dist-packages/mine; echo "x = 5" > /usr/local/lib/python3.11/dist-packages/mine/__init__.py',
    'useradd alice; ln -s libc.so.6 /usr/lib/x86_64-linux-gnu/libmine.so',
  ].join('; ');
  const command =
    'newtool && localtool && linked && id alice && readlink /usr/lib/x86_64-linux-gnu/libmine.so && python3 -c "import mine; assert mine.x == 5" && echo 1 > /logs/verifier/reward.txt';
  const { rewards, exec, tamperingCounts } = await graded(agent, { command });
  assert.deepEqual(rewards, { reward: 1 }, JSON.stringify(exec));
  assert.ok(tamperingCounts.account! > 0 && tamperingCounts.binary! >= 3);
});

test('a task can say that the agent is to change a program: then it is graded as the agent left it', async () => {
  const agent = 'printf "#!/bin/sh\\necho mine\\n" > /usr/local/bin/python3; chmod 755 /usr/local/bin/python3';
  const command = 'test "$(python3)" = mine && echo 1 > /logs/verifier/reward.txt';
  const workspace = ['/app', '/usr/local/bin/python3'];
  assert.deepEqual((await graded(agent, { command, workspace })).rewards, { reward: 1 });
});

test('a task can protect files of its workspace, and gets them back', async () => {
  const agent = 'echo 41 > /app/answer; echo "import sys; sys.exit(0)" > /app/conftest.py';
  const command = 'ls /app > /logs/verifier/ls; echo 1 > /logs/verifier/reward.txt';
  let seen = '';
  const onSandbox = async ({ files }: Sandbox) => {
    seen = await files.readText('/logs/verifier/ls');
  };
  const { leftOut } = await graded(agent, { command, protect: ['/app/**/conftest.py'], onSandbox });
  assert.equal(seen, 'answer\n');
  assert.deepEqual(leftOut, [{ path: '/app/conftest.py', change: 'added' }]);
});

test('a node that is killed while the grader runs loses neither grade nor agent', async () => {
  const box = await node.viv.sandboxes.create({ image: IMAGE });
  await box.exec('mkdir -p /app && echo 42 > /app/answer');
  const command = 'sleep 3; bash /tests/test.sh';
  const grading = box.verify({ command, grader: 'grader/answer@1', workspace: ['/app'], timeoutMs: 60_000 });
  for (;;) {
    const graders = await collect(node.viv.sandboxes.list({ states: 'running', labels: { 'viv.role': 'verifier' } }));
    if (graders.length > 0 && (await collect(graders[0]!.execs())).length > 0) break;
  }
  await node.kill9();
  await node.start();
  assert.deepEqual((await grading).rewards, { reward: 1 });
  assert.equal((await box.refresh()).state, 'running');
  await box.kill();
});

test('a grader that runs as an ordinary user can write its reward, and sees the logs of the agent', async () => {
  const agent = 'mkdir -p /logs/agent && echo hello > /logs/agent/trace && chmod 700 /logs';
  const command = 'grep -q hello /logs/agent/trace && touch /logs/artifacts/x && echo 1 > /logs/verifier/reward.txt';
  assert.deepEqual((await graded(agent, { command, user: 'user' })).rewards, { reward: 1 });
});
