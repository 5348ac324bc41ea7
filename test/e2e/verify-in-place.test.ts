import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Sandbox, Verification, VerifyRequest } from '@vivarium/sdk';
import { IMAGE, startTestNode, type TestNode } from '../harness/node.ts';
import { tarOf } from '../harness/tar.ts';

/** Rewards 1 when the service on port 8000 answers with what is asked for. */
const GRADER = `if wget -q -O - http://127.0.0.1:8000/answer | grep -q '^42$'; then r=1; else r=0; fi
echo $r > /logs/verifier/reward.txt
`;

let node: TestNode;
before(async () => {
  node = await startTestNode();
  const tree = { 'tests/': '', 'tests/test.sh': { content: GRADER, mode: 0o755 } };
  await node.viv.images.importTar('grader/service@1', tarOf(tree));
});
after(() => node.purge());

async function withService(answer: string): Promise<Sandbox> {
  const sandbox = await node.viv.sandboxes.create({ image: IMAGE });
  await sandbox.exec(`mkdir -p /srv/www && echo ${answer} > /srv/www/answer`, { throwOnError: true });
  await sandbox.start('cd /srv/www && exec python3 -m http.server 8000', { label: 'service' });
  await sandbox.exec('until curl -sf http://127.0.0.1:8000/answer > /dev/null; do sleep 0.05; done', {
    timeoutMs: 20_000,
  });
  return sandbox;
}

const request: VerifyRequest = {
  mode: 'in_place',
  command: 'sh /tests/test.sh',
  grader: 'grader/service@1',
  timeoutMs: 30_000,
};

async function graded(answer: string, agent: string, change: Partial<VerifyRequest> = {}): Promise<Verification> {
  const sandbox = await withService(answer);
  try {
    await sandbox.exec(agent, { throwOnError: true });
    return await sandbox.verify({ ...request, ...change });
  } finally {
    await sandbox.kill();
  }
}

test('a live service is asked where it runs, and the grader’s tools and tests are gone afterwards', async () => {
  const sandbox = await withService('42');
  const right = await sandbox.verify(request);
  assert.deepEqual(right.rewards, { reward: 1 }, String(right.rewardError));
  assert.equal(right.mode, 'in_place');
  assert.equal(right.isolation, 'in_process');
  assert.equal((await sandbox.exec('ls /tests /dev/viv-grader')).stdout, '/dev/viv-grader:\n\n/tests:\n');
  assert.equal((await sandbox.exec('curl -s http://127.0.0.1:8000/answer')).stdout, '42\n');
  await sandbox.exec('echo 41 > /srv/www/answer');
  assert.deepEqual((await sandbox.verify({ ...request, afterwards: 'end' })).rewards, { reward: 0 });
  assert.equal((await sandbox.refresh()).state, 'ended');
});

test('processes of the agent are ended before the tests arrive, services are not', async () => {
  const agent =
    'setsid -f sh -c "while :; do cat /tests/test.sh > /root/stolen 2> /dev/null; echo 1 > /logs/verifier/reward.txt; done" > /dev/null 2>&1 < /dev/null';
  const sandbox = await withService('41');
  await sandbox.exec(agent, { throwOnError: true });
  await sandbox.start('while :; do cat /tests/test.sh > /root/stolen; sleep 0.01; done');
  const { rewards } = await sandbox.verify(request);
  assert.deepEqual(rewards, { reward: 0 });
  assert.equal(
    (await sandbox.files.exists('/root/stolen').catch(() => false)) &&
      (await sandbox.files.stat('/root/stolen')).sizeBytes,
    0,
  );
  const running = (await sandbox.processes()).map(({ argv }) => argv.join(' '));
  assert.ok(running.some((argv) => argv.includes('http.server')));
  assert.ok(!running.some((argv) => argv.includes('stolen')));
  await sandbox.kill();
});

test('nothing the agent put in the place of shells, tools, libraries or directories of the grader is used', async () => {
  const fake = 'printf "#!/bin/true\\n" > /tmp/fake; chmod 755 /tmp/fake';
  for (const cheat of [
    `${fake}; for t in /usr/bin/wget /usr/bin/grep /usr/local/bin/wget /usr/local/bin/grep; do cp /tmp/fake $t; done`,
    `${fake}; cp /tmp/fake /usr/bin/bash; cp --remove-destination /tmp/fake /usr/bin/sh`,
    'echo /nonexistent.so > /etc/ld.so.preload',
    'mkdir -p /elsewhere; rm -rf /tests /logs; ln -s /elsewhere /tests; ln -s /elsewhere /logs',
    'mkdir -p /dev/viv-grader/bin 2> /dev/null && cp /bin/true /dev/viv-grader/bin/sh; true',
    'ln -s /elsewhere /dev/viv-grader; true',
    'echo "root:x:1234:1234::/:/bin/sh" > /etc/passwd',
    'mkdir -p /logs/verifier; mkfifo /logs/verifier/reward.txt; ln -s /etc/passwd /logs/verifier/reward.json',
  ]) {
    assert.deepEqual((await graded('41', cheat)).rewards, { reward: 0 }, cheat);
    assert.deepEqual((await graded('42', cheat)).rewards, { reward: 1 }, cheat);
  }
});

test('a library that the agent names for looking up users and hosts is not loaded, and its configuration comes back', async () => {
  const plant = `printf '#include <stdio.h>\\n__attribute__((constructor)) static void win(void) { FILE *f = fopen("/logs/verifier/reward.json", "w"); if (f) { fputs("{\\\\"reward\\\\": 1}", f); fclose(f); } }\\n' > /tmp/win.c
gcc -shared -fPIC -o /usr/lib/x86_64-linux-gnu/libnss_win.so.2 /tmp/win.c || exit 1
for name in passwd group services hosts; do echo "$name: win files"; done > /etc/nsswitch.conf`;
  const sandbox = await withService('41');
  await sandbox.exec(plant, { throwOnError: true });
  const command = ['bash', '-c', 'echo ~nobody; ls -l /; nc -w 1 localhost 8000 < /dev/null; . /tests/test.sh'];
  const { rewards } = await sandbox.verify({ ...request, command });
  assert.deepEqual(rewards, { reward: 0 });
  assert.match(await sandbox.files.readText('/etc/nsswitch.conf'), /^passwd: win files$/m);
  await sandbox.kill();
});

test('root is user 0 whoever else is called so, and a working directory that is gone keeps no grader from its work', async () => {
  const agent = 'rm -rf /srv/gone; sed -i "s/^root:x:0:0/root:x:1234:1234/" /etc/passwd';
  const change = { user: 'root', cwd: '/srv/gone' };
  assert.deepEqual((await graded('42', agent, change)).rewards, { reward: 1 });
  const command = 'test "$(id -u)" = 0 && echo 0.5 > /logs/verifier/reward.txt';
  assert.deepEqual((await graded('42', agent, { ...change, mode: 'fresh', command })).rewards, { reward: 0.5 });
});

test('its own state is kept when that is asked for, a black box is refused', async () => {
  const { state } = await graded('42', 'echo x > /root/mine', { keep: 'kept/place@1' });
  assert.equal(state?.image, 'kept/place@1');
  const bash = await graded('42', 'true', {
    command: ['bash', '-c', 'a=(1); [[ "$a" == 1 ]] && echo 1 > /logs/verifier/reward.txt'],
  });
  assert.deepEqual(bash.rewards, { reward: 1 });
  await assert.rejects(graded('42', 'true', { isolation: 'black_box' }), { code: 'invalid_argument' });
});

test('a node that was killed in between still knows what is mounted', async () => {
  const sandbox = await node.viv.sandboxes.create({ image: IMAGE });
  await sandbox.files.mkdir('/tests');
  await sandbox.mount('grader/service@1', '/tests', { from: '/tests' });
  await assert.rejects(sandbox.mount('grader/service@1', '/tests'), { code: 'path_exists' });
  await assert.rejects(sandbox.mount('grader/service@1', '/none'), { code: 'path_not_found' });
  await assert.rejects(sandbox.mount(IMAGE, '/tests/../tests'), { code: 'invalid_argument' });
  await node.kill9();
  await node.start();
  await assert.rejects(node.viv.images.remove('grader/service@1'), { code: 'image_in_use' });
  assert.match((await sandbox.exec('cat /tests/test.sh')).stdout, /reward/);
  await sandbox.unmount('/tests');
  assert.equal((await sandbox.exec('ls /tests')).stdout, '');
  await sandbox.kill();
});
