import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { IMAGE, runViv, startTestNode, type TestNode } from '../harness/node.ts';

let node: TestNode;
let directory: string;
before(async () => {
  node = await startTestNode();
  directory = mkdtempSync(join(tmpdir(), 'viv-verify-'));
  mkdirSync(join(directory, 'tests'));
  const script = 'echo checking\ngrep -q 42 /srv/answer && echo 1 > /logs/verifier/reward.txt\n';
  writeFileSync(join(directory, 'tests/test.sh'), script);
});
after(async () => {
  rmSync(directory, { recursive: true });
  await node.purge();
});

test('viv verify prints the reward, what was tampered with, saves the logs, and its exit code says whether there is a reward', async () => {
  const sandbox = await node.viv.sandboxes.create({ image: IMAGE });
  await sandbox.exec('echo 42 > /srv/answer; echo x >> /usr/bin/bashbug');
  const logs = join(directory, 'logs');
  const tests = join(directory, 'tests');
  const done = runViv(node, ['verify', sandbox.id, '--tests', tests, '--logs', logs, '--workspace', '/srv']);
  assert.deepEqual({ code: done.code, stdout: done.stdout }, { code: 0, stdout: 'reward  1\n' }, done.stderr);
  assert.equal(readFileSync(join(logs, 'test-stdout.txt'), 'utf8'), 'checking\n');
  assert.equal(readFileSync(join(logs, 'reward.txt'), 'utf8'), '1\n');
  await sandbox.exec('echo 41 > /srv/answer');
  const none = runViv(node, ['verify', sandbox.id, '--tests', tests, '--json', '--workspace', '/srv']);
  assert.equal(none.code, 1, none.stderr);
  const { rewards, rewardError, tampering } = JSON.parse(none.stdout);
  assert.equal(rewards, null);
  assert.match(rewardError, /^missing/);
  assert.deepEqual(tampering, [{ path: '/usr/bin/bashbug', change: 'changed', what: 'binary' }]);
  const refused = runViv(node, ['verify', sandbox.id, '--isolation', 'black_box']);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /black box/);
  const own = runViv(node, [
    'verify',
    sandbox.id,
    '--mode',
    'in_place',
    '--then',
    'end',
    '--',
    '/dev/viv-grader/bin/sh',
    '-c',
    'echo 0.5 > /logs/verifier/reward.txt',
  ]);
  assert.equal(own.stdout, 'reward  0.5\n', own.stderr);
  assert.equal((await sandbox.refresh()).state, 'ended');
});
