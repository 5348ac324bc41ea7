import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Verification, VerifyRequest } from '@vivarium/sdk';
import { IMAGE, startTestNode, type TestNode } from '../harness/node.ts';
import { tarOf } from '../harness/tar.ts';

/** Runs the agent's program as the agent's user and compares what it says. */
const GRADER = `#!/bin/bash
out=$($VIV_AGENT_RUN /srv/app/program 6 7 2>> /logs/verifier/errors.txt)
if [ "$out" = 42 ]; then r=1; else r=0; fi
echo $r > /logs/verifier/reward.txt
`;

let node: TestNode;
before(async () => {
  node = await startTestNode();
  const tree = { 'tests/': '', 'tests/test.sh': { content: GRADER, mode: 0o755 }, 'tests/secret': 'the answers\n' };
  await node.viv.images.importTar('grader/box@1', tarOf(tree), { opaque: ['/tests'] });
});
after(() => node.purge());

const program = (text: string) =>
  `mkdir -p /srv/app && printf '#!/bin/sh\\n%s\\n' '${text}' > /srv/app/program && chmod 755 /srv/app/program`;

async function graded(agent: string, change: Partial<VerifyRequest> = {}): Promise<Verification> {
  const sandbox = await node.viv.sandboxes.create({ image: IMAGE });
  try {
    await sandbox.exec(agent, { throwOnError: true });
    return await sandbox.verify({
      isolation: 'black_box',
      command: 'bash /tests/test.sh',
      grader: 'grader/box@1',
      agentUser: 'user',
      workspace: ['/srv/app'],
      timeoutMs: 30_000,
      ...change,
    });
  } finally {
    await sandbox.kill();
  }
}

test('the agent’s program is run from outside, as its own user', async () => {
  const right = await graded(program('echo $(($1 * $2))'));
  assert.deepEqual(right.rewards, { reward: 1 }, String(right.rewardError));
  assert.equal(right.isolation, 'black_box');
  assert.deepEqual((await graded(program('echo 41'))).rewards, { reward: 0 });
});

test('nothing but the workspace is carried over', async () => {
  let there = '';
  const result = await graded(
    `${program('echo 42')}; echo x > /usr/bin/mine; echo x > /opt/mine; echo x >> /etc/passwd`,
    {
      onSandbox: async (box) => {
        there = (await box.exec('ls /usr/bin/mine /opt/mine; tail -1 /etc/passwd; ls /srv/app')).stdout;
      },
    },
  );
  assert.match(there, /^user:.*\nprogram\n$/);
  assert.deepEqual(
    result.leftOut.map(({ path }) => path).filter((path) => path.endsWith('mine')),
    ['/opt/mine', '/usr/bin/mine'],
  );
});

test('the program can neither read the tests nor write the reward nor become anybody else', async () => {
  for (const cheat of [
    'cat /tests/secret && echo 42',
    'cat /tests/test.sh && echo 42',
    'echo 1 > /logs/verifier/reward.txt && echo 42',
    'rm -rf /logs/verifier && echo 42',
    'mv /logs /logs2 && echo 42',
    'sudo -n true && echo 42',
    'kill -9 $PPID && echo 42',
    'cat /proc/$PPID/environ > /dev/null && echo 42',
  ])
    assert.deepEqual((await graded(program(cheat))).rewards, { reward: 0 }, cheat);
});

test('a set-user-id program of root in the workspace is no way to become root', async () => {
  const setuid = 'cp /usr/bin/cat /srv/app/cat; chown 0:0 /srv/app/cat; chmod 4755 /srv/app/cat';
  const { rewards } = await graded(`${program('/srv/app/cat /tests/secret && echo 42')}; ${setuid}`);
  assert.deepEqual(rewards, { reward: 0 });
});

test('what can’t be a black box is refused before anything is done, with the reason', async () => {
  for (const [change, reason] of [
    [{ agentUser: undefined }, /no agentUser/],
    [{ agentUser: 'root' }, /as root/],
    [{ agentUser: '0:5' }, /as root/],
    [{ user: 'user' }, /the agent’s user/],
    [{ user: '1000' }, /is the agent’s/],
    [{ agentUser: 'nobody-there' }, /no user nobody-there/],
    [{ workspace: [] }, /no workspace/],
    [{ workspace: ['/usr/local'] }, /workspace \/usr\/local/],
    [{ workspace: ['/'] }, /workspace \//],
    [{ workspace: ['/srv/../etc'] }, /workspace/],
    [{ workspace: ['conftest.py'] }, /workspace/],
    [{ workspace: ['/root'] }, /workspace \/root/],
  ] as const) {
    const refused = graded('true', change as Partial<VerifyRequest>);
    await assert.rejects(refused, (error: Error & { code?: string }) => {
      assert.equal(error.code, 'invalid_argument', String(error));
      assert.match(error.message, reason);
      return true;
    });
  }
});
