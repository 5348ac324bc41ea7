import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Sandbox } from '@vivarium/sdk';
import { call } from '../harness/http.ts';
import { IMAGE, startTestNode, type TestNode } from '../harness/node.ts';

let node: TestNode;
let sandbox: Sandbox;
let dead: Sandbox;

before(async () => {
  node = await startTestNode();
  sandbox = await node.viv.sandboxes.create({ image: IMAGE });
  dead = await node.viv.sandboxes.create({ image: IMAGE });
  await dead.kill();
});
after(() => node.purge());

type Case = {
  name: string;
  method: string;
  path: () => string;
  body?: unknown;
  status: number;
  code: string;
  message: RegExp;
};

const sandboxes = () => '/v1/sandboxes';
const unknownId = '0'.repeat(20);
const file = (path: string) => () => `/v1/sandboxes/${sandbox.id}/files/content?path=${encodeURIComponent(path)}`;

const CASES: Case[] = [
  {
    name: 'an unknown image',
    method: 'POST',
    path: sandboxes,
    body: { image: 'no/such@1' },
    status: 404,
    code: 'image_not_found',
    message: /no\/such@1/,
  },
  {
    name: 'an image without its version',
    method: 'POST',
    path: sandboxes,
    body: { image: 'debian' },
    status: 400,
    code: 'invalid_argument',
    message: /image: .*name@version, such as base\/debian@12/,
  },
  {
    name: 'an unknown id',
    method: 'GET',
    path: () => `/v1/sandboxes/${unknownId}`,
    status: 404,
    code: 'sandbox_not_found',
    message: new RegExp(unknownId),
  },
  {
    name: 'malformed JSON',
    method: 'POST',
    path: sandboxes,
    body: '{"image": ',
    status: 400,
    code: 'malformed_json',
    message: /JSON/,
  },
  {
    name: 'an unknown field',
    method: 'POST',
    path: sandboxes,
    body: { image: IMAGE, limts: {} },
    status: 400,
    code: 'unknown_field',
    message: /limts/,
  },
  {
    name: 'a limit above its maximum',
    method: 'POST',
    path: sandboxes,
    body: { image: IMAGE, limits: { pids: 40_000 } },
    status: 400,
    code: 'limit_too_high',
    message: /pids.*40000.*32768/,
  },
  {
    name: 'a negative TTL',
    method: 'POST',
    path: sandboxes,
    body: { image: IMAGE, ttlS: -1 },
    status: 400,
    code: 'invalid_argument',
    message: /ttlS/,
  },
  {
    name: 'a path to nowhere',
    method: 'GET',
    path: file('/no/such/file'),
    status: 404,
    code: 'path_not_found',
    message: /\/no\/such\/file/,
  },
  {
    name: 'a read of a directory',
    method: 'GET',
    path: file('/etc'),
    status: 400,
    code: 'is_directory',
    message: /\/etc/,
  },
  {
    name: 'an exec in a dead sandbox',
    method: 'POST',
    path: () => `/v1/sandboxes/${dead.id}/execs`,
    body: { argv: ['true'] },
    status: 410,
    code: 'sandbox_dead',
    message: /ended/,
  },
  {
    name: 'an unknown kind of sandbox',
    method: 'POST',
    path: sandboxes,
    body: { image: IMAGE, kind: 'vm' },
    status: 501,
    code: 'unsupported',
    message: /vm/,
  },
  {
    name: 'an unknown route',
    method: 'GET',
    path: () => '/v1/nothing',
    status: 404,
    code: 'route_not_found',
    message: /nothing/,
  },
  {
    name: 'a command and arguments at once',
    method: 'POST',
    path: () => `/v1/sandboxes/${sandbox.id}/execs`,
    body: { argv: ['true'], command: 'true' },
    status: 400,
    code: 'invalid_argument',
    message: /argv.*command/,
  },
  {
    name: 'an unknown user',
    method: 'POST',
    path: () => `/v1/sandboxes/${sandbox.id}/execs`,
    body: { argv: ['true'], user: 'nosuchuser' },
    status: 400,
    code: 'user_unknown',
    message: /nosuchuser/,
  },
  {
    name: 'a working directory that does not exist',
    method: 'POST',
    path: () => `/v1/sandboxes/${sandbox.id}/execs`,
    body: { argv: ['true'], cwd: '/no/where' },
    status: 404,
    code: 'path_not_found',
    message: /working directory \/no\/where: No such file/,
  },
];

describe('bad input is refused with its exact error', () => {
  for (const { name, method, path, body, status, code, message } of CASES) {
    test(name, async () => {
      const answer = await call(node, method, path(), body);
      assert.equal(answer.error.code, code, answer.text);
      assert.equal(answer.status, status);
      assert.match(answer.error.message, message);
      assert.ok(answer.error.hint.length > 0, 'it says what to do');
      assert.equal(answer.text.includes(node.paths.stateDir), false, 'it tells nothing of the host');
    });
  }

  test('a request without a key or with a wrong one', async () => {
    const none = await fetch(`${node.url}/v1/sandboxes`);
    assert.equal(none.status, 401);
    const wrong = await call(node, 'GET', '/v1/sandboxes', undefined, {
      authorization: `Bearer viv_${'0'.repeat(40)}`,
    });
    assert.equal(wrong.error.code, 'unauthenticated');
  });
});

describe('a command that can’t be started ends as in a shell', () => {
  test('a missing program is exit code 127 with a message', async () => {
    const result = await sandbox.exec(['nosuch-program']);
    assert.equal(result.exitCode, 127);
    assert.match(result.message ?? '', /nosuch-program/);
  });

  test('a file that is no program is exit code 126 with a message', async () => {
    const result = await sandbox.exec(['/etc/passwd']);
    assert.equal(result.exitCode, 126);
    assert.match(result.message ?? '', /\/etc\/passwd/);
  });
});

describe('a retry gets the first result', () => {
  test('two creates with one idempotency key make one sandbox', async () => {
    const request = { image: IMAGE, labels: { once: 'yes' } };
    const twice = () => call(node, 'POST', '/v1/sandboxes', request, { 'idempotency-key': 'create-once' });
    const [first, second] = await Promise.all([twice(), twice()]);
    assert.equal(first.status < 300 && second.status < 300, true, first.text + second.text);
    assert.equal(first.body.id, second.body.id);
    const listed = await call(node, 'GET', '/v1/sandboxes?label=once%3Dyes&state=running');
    assert.equal((listed.body.items as unknown[]).length, 1);
  });

  test('one key for two different creates is refused', async () => {
    const create = (n: number) =>
      call(
        node,
        'POST',
        '/v1/sandboxes',
        { image: IMAGE, labels: { n: String(n) } },
        { 'idempotency-key': 'create-two' },
      );
    assert.ok((await create(1)).status < 300);
    const second = await create(2);
    assert.equal(second.error.code, 'idempotency_mismatch');
    assert.equal(second.status, 422);
  });

  test('two execs with one idempotency key run once', async () => {
    const run = () =>
      call(
        node,
        'POST',
        `/v1/sandboxes/${sandbox.id}/execs`,
        { command: 'echo x >> /tmp/ran; wc -l < /tmp/ran' },
        { 'idempotency-key': 'exec-once' },
      );
    const first = await run();
    const second = await run();
    assert.equal(first.body.id, second.body.id);
    assert.equal(await sandbox.files.readText('/tmp/ran'), 'x\n');
  });
});
