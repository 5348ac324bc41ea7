import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { Vivarium } from './client.ts';
import { endedExec } from './testing/fake-exec.ts';
import { errorAnswer, FakeServer } from './testing/fake-server.ts';

const b64 = (text: string) => Buffer.from(text).toString('base64');
let server: FakeServer;
let viv: Vivarium;
before(async () => {
  server = await FakeServer.start();
  viv = new Vivarium({ url: server.url, apiKey: 'viv_test' });
});
beforeEach(() => {
  server.seen.length = 0;
  server.routes.clear();
});
after(async () => {
  viv.close();
  await server.close();
});

const step = (code: number, stdout = '') => ({ ...endedExec(code), stdoutB64: b64(stdout), stderrB64: '' });
const durations = { waitMs: 0, filesInMs: 0, compileMs: 0, runMs: 0, filesOutMs: 0, totalMs: 0 };
const answer = (code = 0, change: object = {}) => ({
  ...step(code, 'out'),
  ...{ image: 'a@1', session: null, cold: false, stage: 'run', compile: null, files: [], filesLeft: [], durations },
  ...change,
});
const sent = () => JSON.parse(server.seen.at(-1)!.body.toString());

test('a call brings text and bytes both ways', async () => {
  const files = [{ path: 'out.txt', contentB64: b64('done'), sizeBytes: 4, mode: 0o644 }];
  const filesLeft = [{ path: 'x', reason: 'not_found' }];
  server.routes.set('POST /v1/fn', { json: answer(0, { files, filesLeft, compile: step(0, 'warned') }) });
  const result = await viv.fn.run({
    image: 'a@1',
    language: 'c',
    code: 'x',
    stdin: 'in',
    files: { 'a.txt': 'a', 'b.sh': { content: new Uint8Array([0, 255]), mode: 0o755 } },
    filesOut: ['out.txt', 'x'],
  });
  assert.deepEqual(sent(), {
    image: 'a@1',
    language: 'c',
    code: 'x',
    filesOut: ['out.txt', 'x'],
    stdin: b64('in'),
    files: [
      { path: 'a.txt', contentB64: b64('a') },
      { path: 'b.sh', contentB64: 'AP8=', mode: 0o755 },
    ],
  });
  assert.match(server.seen[0]!.headers['idempotency-key'] as string, /^[0-9a-f]{32}$/);
  assert.deepEqual([result.stdout, result.ok, result.compile?.stdout], ['out', true, 'warned']);
  assert.deepEqual([result.text('out.txt'), result.text('x'), result.filesLeft], ['done', undefined, filesLeft]);
});

test('a call whose answer was lost is asked for again under the same key', async () => {
  let calls = 0;
  server.routes.set('POST /v1/fn', () => (calls++ === 0 ? { cut: true } : { json: answer() }));
  await viv.fn.run({ image: 'a@1', argv: ['true'] });
  const keys = server.seen.map(({ headers }) => headers['idempotency-key']);
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
});

test('a failed program throws only where that is wanted', async () => {
  server.routes.set('POST /v1/fn', { json: answer(3) });
  assert.equal((await viv.fn.run({ image: 'a@1', argv: ['false'] })).exitCode, 3);
  const thrown = viv.fn.run({ image: 'a@1', argv: ['false'] }, { throwOnError: true });
  await assert.rejects(thrown, { code: 'command_failed' });
});

test('a session names its calls, and can be ended twice', async () => {
  server.routes.set('POST /v1/fn', { json: answer(0, { session: 's' }) });
  const session = viv.fn.session({ image: 'a@1', language: 'python', sessionIdleS: 60 });
  await session.run({ code: 'x = 1' });
  assert.deepEqual(sent(), {
    image: 'a@1',
    language: 'python',
    sessionIdleS: 60,
    code: 'x = 1',
    session: session.name,
  });
  server.routes.set(`DELETE /v1/fn/sessions/${session.name}`, { status: 204 });
  await session.end();
  const gone = errorAnswer(new VivError('session_not_found', 'no session'));
  server.routes.set(`DELETE /v1/fn/sessions/${session.name}`, gone);
  await session.end();
  await assert.rejects(viv.fn.endSession(session.name), { code: 'session_not_found' });
});

test('pools, languages and sessions are lists', async () => {
  server.routes.set('GET /v1/fn/pools', { json: { items: [{ image: 'a@1' }] } });
  server.routes.set('GET /v1/fn/languages', { json: { items: [{ name: 'python' }] } });
  server.routes.set('GET /v1/fn/sessions', { json: { items: [{ name: 's' }] } });
  server.routes.set('POST /v1/fn/warm', { json: { ready: 2 } });
  assert.equal((await viv.fn.pools())[0]!.image, 'a@1');
  assert.equal((await viv.fn.languages('a@1'))[0]!.name, 'python');
  assert.equal((await viv.fn.sessions())[0]!.name, 's');
  assert.equal((await viv.fn.warm({ image: 'a@1', count: 2 })).ready, 2);
});
