import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Sandbox } from '@vivarium/sdk';
import { call } from '../harness/http.ts';
import { IMAGE, startTestNode, type TestNode } from '../harness/node.ts';

let node: TestNode;

before(async () => {
  node = await startTestNode();
});
after(() => node.purge());

const withSandbox = async (limits: Record<string, number>, use: (sandbox: Sandbox) => Promise<void>) => {
  const sandbox = await node.viv.sandboxes.create({ image: IMAGE, limits });
  try {
    await use(sandbox);
  } finally {
    await sandbox.kill();
  }
};

/** Every case ends with this: the sandbox is still good for work. */
const stillWorks = async (sandbox: Sandbox) => {
  const result = await sandbox.exec(['echo', 'still here']);
  assert.equal(result.stdout, 'still here\n');
};

test('a write to a full sandbox disk is disk_full, and reading goes on', async () => {
  await withSandbox({ diskMiB: 16 }, async (sandbox) => {
    const filled = await sandbox.exec('head -c 64M /dev/urandom > /tmp/fill');
    assert.notEqual(filled.exitCode, 0);
    assert.match(filled.stderr, /No space left|quota exceeded/i);
    assert.ok(filled.annotations.includes('disk_limit'), JSON.stringify(filled.annotations));
    const path = `/v1/sandboxes/${sandbox.id}/files/content?path=%2Ftmp%2Fmore`;
    const answer = await call(node, 'PUT', path, 'x'.repeat(8 << 20), { 'content-type': 'application/octet-stream' });
    assert.equal(answer.error.code, 'disk_full', answer.text);
    assert.equal(answer.status, 507);
    assert.equal(answer.error.fault, 'agent');
    await sandbox.exec('rm -f /tmp/fill');
    await stillWorks(sandbox);
  });
});

test('a memory hog ends as oom; the sandbox lives on', async () => {
  await withSandbox({ memoryMiB: 64 }, async (sandbox) => {
    const result = await sandbox.exec(['python3', '-c', 'x = bytearray(256 << 20); print(len(x))']);
    assert.equal(result.outcome.type, 'oom');
    assert.equal(result.exitCode, 137);
    await stillWorks(sandbox);
  });
});

test('an OOM kill inside a command that ends well makes no later SIGKILL an oom', async () => {
  await withSandbox({ memoryMiB: 64 }, async (sandbox) => {
    const survived = await sandbox.exec('python3 -c "bytearray(256 << 20)"; exit 0');
    assert.deepEqual(survived.outcome, { type: 'exited', code: 0 });
    assert.ok(survived.annotations.includes('memory_limit'), JSON.stringify(survived.annotations));
    const killed = await sandbox.exec('kill -9 $$');
    assert.deepEqual(killed.outcome, { type: 'signaled', signal: 9 });
  });
});

test('a command that its CPU quota slows down is annotated throttled', async () => {
  await withSandbox({ cpus: 0.1 }, async (sandbox) => {
    const busy = await sandbox.exec(['python3', '-c', 'for i in range(3000000): pass']);
    assert.deepEqual([busy.exitCode, busy.annotations], [0, ['throttled']]);
  });
});

test('an exec over the pid limit is spawn_failed and says so', async () => {
  await withSandbox({ pids: 8 }, async (sandbox) => {
    const fillers = await Promise.all(
      Array.from({ length: 7 }, () => sandbox.start(['sleep', '60']).catch(() => undefined)),
    );
    assert.ok(fillers.some((exec) => exec !== undefined));
    const answer = await call(node, 'POST', `/v1/sandboxes/${sandbox.id}/execs`, { argv: ['true'] });
    assert.equal(answer.error.code, 'spawn_failed', answer.text);
    assert.match(answer.error.hint, /pid/);
  });
});

test('a fork bomb under the pid limit is ended by its time-out', async () => {
  await withSandbox({ pids: 64, cpus: 1 }, async (sandbox) => {
    const bomb = 'import os\nwhile True:\n  try: os.fork()\n  except OSError: pass\n';
    const result = await sandbox.exec(['python3', '-c', bomb], { timeoutMs: 2000 });
    assert.ok(result.annotations.includes('pids_limit'), JSON.stringify(result.annotations));
    assert.equal(result.outcome.type, 'timeout');
    assert.equal(result.exitCode, 124);
    assert.deepEqual(
      (await sandbox.processes()).filter((process) => process.comm === 'python3'),
      [],
    );
    await stillWorks(sandbox);
  });
});

test('a command that double-forks and leaves its session is gone after its time-out', async () => {
  await withSandbox({}, async (sandbox) => {
    const script = 'echo before; (setsid sh -c "sleep 987 & sleep 987" &) ; sleep 987';
    const result = await sandbox.exec(script, { timeoutMs: 500 });
    assert.equal(result.outcome.type, 'timeout');
    assert.equal(result.stdout, 'before\n', 'what it printed is there');
    const left = (await sandbox.processes()).filter((process) => process.argv.includes('987'));
    assert.deepEqual(left, []);
  });
});

test('yes for ten seconds keeps what was asked for and counts the rest', async () => {
  await withSandbox({}, async (sandbox) => {
    const before = rssMiB(node.serverPid());
    const result = await sandbox.exec(['timeout', '10', 'yes'], { keepBytes: 1 << 20 });
    assert.equal(result.exitCode, 124);
    assert.equal(result.stdoutBytes.length, 1 << 20);
    assert.ok(result.exec.stdout.bytes > 1 << 20);
    assert.equal(result.exec.stdout.truncated, true);
    assert.ok(result.annotations.includes('output_truncated'));
    assert.ok(rssMiB(node.serverPid()) - before < 128, 'the server did not keep it in memory');
  });
});

test('a command that writes more than its output limit ends as output_limit', async () => {
  await withSandbox({}, async (sandbox) => {
    const result = await sandbox.exec(['yes'], { outputLimitBytes: 100_000, timeoutMs: 60_000 });
    assert.equal(result.outcome.type, 'output_limit');
    assert.ok(result.stdoutBytes.length >= 100_000);
  });
});

test('a background child that holds the pipe does not hold the exec', async () => {
  await withSandbox({}, async (sandbox) => {
    const result = await sandbox.exec('sleep 60 & echo done');
    assert.equal(result.stdout, 'done\n');
    assert.equal(result.exitCode, 0);
    await delay(50);
    assert.ok(
      (await sandbox.processes()).some((process) => process.comm === 'sleep'),
      'the child lives on',
    );
  });
});

test('a command killed by a signal says so', async () => {
  await withSandbox({}, async (sandbox) => {
    const result = await sandbox.exec('kill -9 $$');
    assert.deepEqual(result.outcome, { type: 'signaled', signal: 9 });
    assert.equal(result.exitCode, 137);
  });
});

function rssMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
