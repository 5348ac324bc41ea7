import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { e2bSecret } from '@vivarium/sdk';
import {
  AuthenticationError,
  FileNotFoundError,
  InvalidArgumentError,
  NotEnoughSpaceError,
  NotFoundError,
  RateLimitError,
  Sandbox,
  SandboxNotFoundError,
  TimeoutError,
} from 'e2b';
import { type E2bNode, startE2bNode } from '../../harness/e2b.ts';
import { E2B_BASE } from '../../harness/e2b-image.ts';

let node: E2bNode;
let sandbox: Sandbox;
before(async () => {
  node = await startE2bNode();
  sandbox = await node.create({ timeoutMs: 3_600_000 });
});
after(() => node.close());

test('what is not there is a NotFoundError that names it', async () => {
  const id = 'zzzzzzzzzzzzzzzzzzzz';
  await assert.rejects(Sandbox.getInfo(id), SandboxNotFoundError);
  await assert.rejects(Sandbox.connect(id), SandboxNotFoundError);
  await assert.rejects(Sandbox.setTimeout(id, 1000), NotFoundError);
  await assert.rejects(Sandbox.getMetrics(id), NotFoundError);
  await assert.rejects(Sandbox.pause(id), NotFoundError);
  await assert.rejects(Sandbox.createSnapshot(id), NotFoundError);
  await assert.rejects(Sandbox.fork(id), NotFoundError);
  await assert.rejects(Sandbox.updateNetwork(id, {}), NotFoundError);
  await assert.rejects(Sandbox.create('no-such-template'), /404: .*no-such-template/);
  await assert.rejects(sandbox.files.read('/not/there'), (error: Error) => {
    assert.ok(error instanceof FileNotFoundError && error.message.includes('/not/there'), error.message);
    return true;
  });
});

test('what can not be meant is an InvalidArgumentError', async () => {
  await assert.rejects(sandbox.files.read('/etc'), InvalidArgumentError);
  await assert.rejects(sandbox.files.list('/etc/passwd'), InvalidArgumentError);
  await assert.rejects(sandbox.files.list('/etc', { depth: 0 }), InvalidArgumentError);
  await assert.rejects(sandbox.files.makeDir('/etc/passwd'), InvalidArgumentError);
  await assert.rejects(sandbox.commands.run('true', { cwd: '/not/there' }), InvalidArgumentError);
  await assert.rejects(sandbox.fork({ count: 0 }), /400: count is 0/);
});

test('a wrong key and a wrong token are AuthenticationErrors', async () => {
  const apiKey = `e2b_${'0'.repeat(40)}`;
  await assert.rejects(Sandbox.create('base', { ...node.connection, apiKey }), AuthenticationError);
  await assert.rejects(Sandbox.getInfo(sandbox.sandboxId, { ...node.connection, apiKey }), AuthenticationError);
  await assert.rejects(sandbox.commands.run('true', { user: 'nobody-of-that-name' as 'user' }), AuthenticationError);
});

test('a command that takes too long is a TimeoutError and is ended', async () => {
  const marker = '/tmp/timed-out';
  await assert.rejects(sandbox.commands.run(`sleep 2; touch ${marker}`, { timeoutMs: 500 }), TimeoutError);
  await sandbox.commands.run('sleep 3');
  assert.equal(await sandbox.files.exists(marker), false);
  assert.equal((await sandbox.commands.run('sleep 0.2; echo no limit', { timeoutMs: 0 })).stdout, 'no limit\n');
});

test('a full disk is a NotEnoughSpaceError, and the sandbox lives on', async () => {
  const small = await node.node.viv.sandboxes.create({ image: E2B_BASE, limits: { diskMiB: 64 } });
  const full = await Sandbox.connect(small.id);
  const tooMuch = new Blob(Array.from({ length: 96 }, (_, n) => new Uint8Array(1 << 20).fill(n)));
  await assert.rejects(full.files.write('large', tooMuch), NotEnoughSpaceError);
  await full.files.remove('large');
  await full.files.write('small', 'fits');
  assert.equal(await full.files.read('small'), 'fits');
  await full.kill();
});

test('a key that asks too often is told with a RateLimitError after the client’s own retries', async () => {
  const { secret } = await node.node.viv.keys.create({ name: 'limited', scopes: ['sandboxes'], maxSandboxes: 1 });
  const options = { ...node.connection, apiKey: e2bSecret(secret!), retries: 0 };
  const first = await Sandbox.create('base', options);
  await assert.rejects(Sandbox.create('base', options), RateLimitError);
  await first.kill();
});

test('errors of the control plane are JSON with their code, whatever is sent', async () => {
  const cases: [string, string, unknown, number][] = [
    ['GET', '/sandboxes/UPPER', undefined, 404],
    ['GET', '/templates/a/b/c', undefined, 404],
    ['POST', '/v2/sandboxes', { templateID: 7 }, 400],
    ['POST', '/v2/sandboxes', { templateID: 'base', timeout: -1 }, 400],
    ['POST', `/sandboxes/${sandbox.sandboxId}/timeout`, { timeout: 'soon' }, 400],
    ['GET', '/v2/sandboxes?limit=many', undefined, 400],
    ['GET', '/v2/sandboxes?state=dreaming', undefined, 400],
    ['GET', '/v2/sandboxes?nextToken=garbage', undefined, 400],
  ];
  for (const [method, path, body, status] of cases) {
    const answer = await node.call(method, path, body);
    assert.deepEqual([`${method} ${path}`, answer.status, answer.body.code], [`${method} ${path}`, status, status]);
    assert.ok(answer.body.message.length > 3);
  }
  const unauthorised = await node.call('GET', '/v2/sandboxes', undefined, { 'x-api-key': 'nonsense' });
  assert.deepEqual([unauthorised.status, unauthorised.body.code], [401, 401]);
});
