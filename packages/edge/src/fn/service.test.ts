import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { ExecStart, Limits, SandboxCreate, VivError } from '@vivarium/protocol';
import type { FnCall } from '../edge.ts';
import { FakeEdge } from '../fakes/fake-edge.ts';

let fake: FakeEdge;
const owner = { keyId: 'k', maxSandboxes: null };

beforeEach(async () => {
  fake = await FakeEdge.open();
});
afterEach(() => fake.close());

const call = (argv: string[] = ['true'], more: Partial<FnCall> = {}): FnCall => ({
  image: 'base/test@1',
  limits: Limits.parse({}),
  files: [],
  run: { argv, timeoutMs: 10_000 },
  env: {},
  cwd: '/',
  filesOut: [],
  filesOutBytesMax: 1000,
  filesOutMax: 10,
  keepBytes: 1000,
  ...more,
});
const key = (name: string, requestHash = 'h') => ({ key: name, requestHash });
const settle = () => new Promise((resolve) => setTimeout(resolve, 20));

test('the first call makes a container, the next one finds one ready', async () => {
  const first = await fake.edge.fn.run(call(['print', 'hi']), owner);
  assert.equal(Buffer.from(first.run!.stdoutB64, 'base64').toString(), 'hi');
  assert.equal(first.cold, true);
  await settle();
  const second = await fake.edge.fn.run(call(['exit', '3']), owner);
  assert.deepEqual([second.run?.exitCode, second.cold], [3, false]);
});

test('a used container has a new cell before it is used again', async () => {
  const { sandbox } = await fake.edge.fn.run(call(), owner);
  await settle();
  assert.equal(fake.fnDriver.guest(sandbox).spawned, 0);
  assert.equal(fake.edge.sandboxes.get(sandbox).state, 'running');
});

test('a container that died while it waited is not handed out', async () => {
  await fake.edge.fn.warm({ image: 'base/test@1', limits: Limits.parse({}), count: 2 }, owner);
  for (const id of fake.fnDriver.cells.keys()) await fake.edge.sandboxes.kill(id);
  assert.equal((await fake.edge.fn.run(call(), owner)).run?.exitCode, 0);
});

test('a container that is dead on arrival is replaced for the call that waits', async () => {
  const doomed = [2, 1];
  fake.images.acquireLayers = async () => {
    if (doomed.pop()) for (const id of fake.fnDriver.cells.keys()) await fake.edge.sandboxes.kill(id);
    return { layers: fake.images.layers, ...fake.images.reacquire() };
  };
  assert.equal((await fake.edge.fn.run(call(), owner)).run?.exitCode, 0);
});

test('nothing is left of a container whose layers are not found again', async () => {
  fake.images.acquireLayers = async () => {
    throw new VivError('image_corrupt', 'a layer is gone');
  };
  await assert.rejects(fake.edge.fn.run(call(), owner), { message: 'a layer is gone' });
  await settle();
  assert.equal(fake.fnDriver.cells.size, 0);
});

test('a compile command that fails is the end of the call', async () => {
  const result = await fake.edge.fn.run(call(['true'], { compile: { argv: ['exit', '2'], timeoutMs: 1000 } }), owner);
  assert.deepEqual([result.compile?.exitCode, result.run], [2, null]);
});

test('pools belong to one key, image and set of limits', async () => {
  await fake.edge.fn.run(call(), owner);
  await fake.edge.fn.run(call(), { ...owner, keyId: 'other' });
  await fake.edge.fn.run(call(['true'], { limits: Limits.parse({ memoryMiB: 64 }) }), owner);
  assert.equal(fake.edge.fn.pools().length, 3);
  assert.equal(fake.edge.fn.pools('k').length, 2);
});

test('a call with a key runs once, also when it is asked for at the same time and after a restart', async () => {
  const run = () => fake.edge.fn.run(call(['print', 'x']), owner, key('a'));
  const [one, two] = await Promise.all([run(), run()]);
  const third = await run();
  assert.equal(one.run?.id, two.run?.id);
  assert.equal(third.run?.id, one.run?.id);
  assert.equal(third.run?.stdoutB64, one.run?.stdoutB64);
  await assert.rejects(fake.edge.fn.run(call(), owner, key('a', 'other')), { code: 'idempotency_mismatch' });
  await fake.restart();
  assert.equal((await run()).run?.id, one.run?.id);
});

test('a call that never began leaves its key free', async () => {
  await assert.rejects(fake.edge.fn.run(call(['true'], { image: 'base/none@1' }), owner, key('b')), {
    code: 'image_not_found',
  });
  assert.equal((await fake.edge.fn.run(call(), owner, key('b'))).run?.exitCode, 0);
});

test('a call whose first command is refused leaves its key free, and the keys of other calls in its container alone', async () => {
  const before = await fake.edge.fn.run(call(['print', 'x']), owner, key('c'));
  await settle();
  await assert.rejects(fake.edge.fn.run(call(['nouser']), owner, key('d')), { code: 'user_unknown' });
  await settle();
  assert.equal((await fake.edge.fn.run(call(['exit', '3']), owner, key('d'))).run?.exitCode, 3);
  assert.equal((await fake.edge.fn.run(call(['print', 'x']), owner, key('c'))).run?.id, before.run?.id);
});

test('a call that fails after something ran gives its error again', async () => {
  const half = call(['nouser'], { compile: { argv: ['true'], timeoutMs: 1000 } });
  const run = () => fake.edge.fn.run(half, owner, key('e'));
  await assert.rejects(run(), { code: 'user_unknown' });
  await assert.rejects(run(), { code: 'user_unknown' });
  await assert.rejects(fake.edge.fn.run(call(), owner, key('e', 'other')), { code: 'idempotency_mismatch' });
  await fake.restart();
  await assert.rejects(run(), { code: 'user_unknown' });
});

test('calls of a session share a container, which outlives a restart, and other calls never get it', async () => {
  const session = { name: 's', idleTimeoutS: 60 };
  const first = await fake.edge.fn.run(call(['true'], { session }), owner);
  const second = await fake.edge.fn.run(call(['true'], { session }), owner);
  assert.equal(second.sandbox, first.sandbox);
  assert.notEqual((await fake.edge.fn.run(call(), owner)).sandbox, first.sandbox);
  await fake.restart();
  assert.equal((await fake.edge.fn.run(call(['true'], { session }), owner)).sandbox, first.sandbox);
  assert.deepEqual(
    fake.edge.fn.sessions('k').map(({ name }) => name),
    ['s'],
  );
  await fake.edge.fn.endSession('s', owner);
  await assert.rejects(fake.edge.fn.endSession('s', owner), { code: 'session_not_found' });
  assert.notEqual((await fake.edge.fn.run(call(['true'], { session }), owner)).sandbox, first.sandbox);
});

test('a session is of one key and of one image and set of limits', async () => {
  const session = { name: 's', idleTimeoutS: 60 };
  const { sandbox } = await fake.edge.fn.run(call(['true'], { session }), owner);
  await assert.rejects(fake.edge.fn.run(call(['true'], { session, limits: Limits.parse({ cpus: 1 }) }), owner), {
    code: 'state_conflict',
  });
  assert.notEqual((await fake.edge.fn.run(call(['true'], { session }), { ...owner, keyId: 'o' })).sandbox, sandbox);
});

test('after a restart no container of before is used', async () => {
  const { sandbox } = await fake.edge.fn.run(call(), owner);
  await settle();
  await fake.restart();
  await settle();
  assert.equal(fake.edge.sandboxes.get(sandbox).state, 'ended');
  assert.notEqual((await fake.edge.fn.run(call(), owner)).sandbox, sandbox);
});

test('nobody can run something in a container for calls, or make one without a call', async () => {
  const { sandbox } = await fake.edge.fn.run(call(), owner);
  await settle();
  const unsupported = { code: 'unsupported' };
  await assert.rejects(async () => fake.edge.execs.run(sandbox, ExecStart.parse({ argv: ['true'] })), unsupported);
  await assert.rejects(async () => fake.edge.sandboxes.pause(sandbox), unsupported);
  await assert.rejects(
    async () => fake.edge.files.remove(sandbox, Buffer.from('/x'), { recursive: true, missingOk: true }),
    unsupported,
  );
  const request = SandboxCreate.parse({ image: 'base/test@1', kind: 'fn' });
  await assert.rejects(fake.edge.sandboxes.create(request, owner), unsupported);
  assert.equal((await fake.edge.execs.list(sandbox, { limit: 10 })).items.length, 1);
});

test('containers that wait for calls make room for a sandbox of a key with a quota', async () => {
  const limited = { keyId: 'k', maxSandboxes: 2 };
  await fake.edge.fn.warm({ image: 'base/test@1', limits: Limits.parse({}), count: 2 }, limited);
  const sandbox = await fake.create({}, undefined, 2);
  assert.equal(sandbox.state, 'running');
  await assert.rejects(fake.edge.fn.warm({ image: 'base/test@1', limits: Limits.parse({}), count: 65 }, limited), {
    code: 'limit_too_high',
  });
});

test('idle containers end', async () => {
  await fake.edge.fn.run(call(), owner);
  await settle();
  for (let i = 0; i < 100; i++) {
    await fake.clock.advance(5_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await settle();
  assert.deepEqual(fake.edge.fn.pools(), []);
});
