import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/protocol';
import { fakeImage } from '../testing/fake-images.ts';
import { type Served, served } from '../testing/served.ts';

const IMAGE = 'base/debian@12';
const out = (result: { stdoutB64: string }) => Buffer.from(result.stdoutB64, 'base64').toString();
const b64 = (text: string) => Buffer.from(text).toString('base64');

/** An image whose labels are these; each has a digest of its own, since images are looked into once. */
let images = 0;
function addImage(api: Served, labels: Record<string, string> = {}): string {
  const name = `own/image-${images++}@1`;
  const digest = `sha256:${images.toString(16).padStart(64, 'f')}`;
  api.edge.images.more.set(name, { ...fakeImage(name), digest, config: { env: {}, labels } });
  return name;
}

test('code is written to a file and run; files, input and arguments come with it', async () => {
  await using api = await served();
  const { status, json } = await api.call('POST', '/v1/fn', {
    image: IMAGE,
    language: 'py',
    code: 'print(1)',
    args: ['-x'],
    stdin: b64('hello'),
    files: [{ path: 'data/in.txt', contentB64: b64('data') }],
    filesOut: ['made.txt', './data/in.txt', '/nothing.txt'],
    timeoutMs: 5000,
    limits: { memoryMiB: 64 },
  });
  assert.equal(status, 200);
  assert.equal(out(json), 'python3 main.py -x|hello');
  const { stage, compile, exitCode, outcome, cold, session, image } = json;
  assert.deepEqual(
    { stage, compile, exitCode, cold, session, image },
    {
      stage: 'run',
      compile: null,
      exitCode: 0,
      cold: false,
      session: null,
      image: IMAGE,
    },
  );
  assert.deepEqual(outcome, { type: 'exited', code: 0 });
  assert.deepEqual(json.files, [
    { path: 'made.txt', contentB64: b64('made'), sizeBytes: 4, mode: 0o644 },
    { path: './data/in.txt', contentB64: b64('data'), sizeBytes: 4, mode: 0o644 },
  ]);
  assert.deepEqual(json.filesLeft, [{ path: '/nothing.txt', reason: 'not_found' }]);
  const [call] = api.edge.fn.calls;
  assert.deepEqual([call!.cwd, call!.run.timeoutMs, call!.limits.memoryMiB], ['/tmp/fn', 5000, 64]);
  assert.deepEqual(
    call!.files.map(({ path, content }) => [path, Buffer.from(content).toString()]),
    [
      ['data/in.txt', 'data'],
      ['main.py', 'print(1)'],
    ],
  );
});

test('a program without a language is run as it is', async () => {
  await using api = await served();
  const { json } = await api.call('POST', '/v1/fn', { image: IMAGE, argv: ['bash', 'fail'] });
  assert.deepEqual([json.exitCode, json.stage, json.compile], [3, 'run', null]);
});

test('a compiler that fails is the result, and the program does not run', async () => {
  await using api = await served();
  const good = (await api.call('POST', '/v1/fn', { image: IMAGE, language: 'c', code: 'right' })).json;
  assert.deepEqual([good.stage, good.compile.exitCode, out(good)], ['run', 0, './main|']);
  const bad = (await api.call('POST', '/v1/fn', { image: IMAGE, language: 'c', code: 'wrong' })).json;
  assert.deepEqual([bad.stage, bad.exitCode, bad.compile.exitCode], ['compile', 3, 3]);
  assert.equal(bad.id, bad.compile.id);
});

test('a language that the image has not is told of with those that it has', async () => {
  await using api = await served();
  const image = addImage(api);
  for (const [language, lack] of [
    ['klingon', 'no language "klingon"'],
    ['cpp', 'no "g++", which c++ needs'],
    ['js', 'no "node", which javascript needs'],
  ] as const) {
    const { status, json } = await api.call('POST', '/v1/fn', { image, language, code: 'x' });
    assert.deepEqual([status, json.error.code], [400, 'language_unavailable']);
    assert.equal(json.error.message, `image ${image} has ${lack}; it has python, bash, sh, c`);
    assert.deepEqual(json.error.details.available, ['python', 'bash', 'sh', 'c']);
  }
  const looks = api.edge.fn.calls.filter(({ label }) => label !== undefined);
  assert.equal(looks.length, 1, 'it was looked for once');
});

test('an image without a shell is looked into by starting its programs', async () => {
  await using api = await served();
  api.edge.fn.programs = new Set(['lua']);
  const { json } = await api.call('GET', `/v1/fn/languages?image=${encodeURIComponent(addImage(api))}`);
  const has = json.items.filter(({ available }: { available: boolean }) => available);
  assert.deepEqual(
    has.map(({ name }: { name: string }) => name),
    ['lua'],
  );
});

test('labels of an image add languages and change those of the table', async () => {
  await using api = await served();
  api.edge.fn.programs.add('node').add('tsx');
  const image = addImage(api, {
    'viv.language.typescript': '{"file":"main.ts","run":["tsx","main.ts"],"aliases":["ts"]}',
    'viv.language.python': '{"file":"main.py","run":["python3","-I","main.py"]}',
  });
  const run = async (language: string) => out((await api.call('POST', '/v1/fn', { image, language, code: 'x' })).json);
  assert.equal(await run('ts'), 'tsx main.ts|');
  assert.equal(await run('python'), 'python3 -I main.py|');
  const broken = addImage(api, { 'viv.language.x': '{"file":"a/b","run":[]}' });
  const { status, json } = await api.call('POST', '/v1/fn', { image: broken, language: 'python', code: 'x' });
  assert.equal(status, 400);
  assert.match(json.error.message, /label viv\.language\.x of image own\/image-\d+@1 describes no language \(file: /);
});

test('a request that makes no sense is refused with the field', async () => {
  await using api = await served();
  for (const [body, code, message] of [
    [{}, 'invalid_argument', /image/],
    [{ image: IMAGE }, 'invalid_argument', /exactly one of language and argv/],
    [{ image: IMAGE, argv: ['a'], language: 'c', code: '' }, 'invalid_argument', /exactly one of language and argv/],
    [{ image: IMAGE, language: 'c' }, 'invalid_argument', /code/],
    [{ image: IMAGE, argv: ['true'], args: ['x'] }, 'invalid_argument', /args/],
    [{ image: IMAGE, argv: ['true'], stdin: '%' }, 'invalid_argument', /stdin/],
    [{ image: IMAGE, argv: ['true'], session: 'a b' }, 'invalid_argument', /session/],
    [{ image: IMAGE, argv: ['true'], files: [{ path: '../x', contentB64: '' }] }, 'invalid_argument', /files/],
    [{ image: IMAGE, argv: ['true'], timeoutMs: 1e9 }, 'limit_too_high', /timeoutMs/],
    [{ image: IMAGE, argv: ['true'], limits: { memoryMib: 1 } }, 'unknown_field', /memoryMib.*memoryMiB/],
    [{ image: 'no/such@1', argv: ['true'] }, 'image_not_found', /no\/such@1/],
    [
      { image: IMAGE, language: 'python', code: '', files: [{ path: '/tmp/fn/./main.py', contentB64: '' }] },
      'invalid_argument',
      /what the code is written to/,
    ],
  ] as const) {
    const { json } = await api.call('POST', '/v1/fn', body);
    assert.equal(json.error?.code, code, JSON.stringify(body));
    assert.match(json.error.message, message);
  }
  assert.equal(api.edge.fn.calls.length, 0);
});

test('code and files may be larger than other bodies', async () => {
  await using api = await served();
  const stdin = 'A'.repeat(8 * 1024 * 1024);
  assert.equal((await api.call('POST', '/v1/fn', { image: IMAGE, argv: ['bash'], stdin })).status, 200);
  const { json } = await api.call('POST', '/v1/fn', { image: IMAGE, argv: ['bash'], stdin: stdin + stdin });
  assert.equal(json.error.code, 'payload_too_large');
});

test('a retried call runs once, also one whose session got its name here', async () => {
  await using api = await served();
  const retry = (body: object) => api.call('POST', '/v1/fn', body, { 'idempotency-key': 'one' });
  const body = { image: IMAGE, argv: ['bash'], stateful: 'session' };
  const [first, second] = [await retry(body), await retry(body)];
  assert.deepEqual(first.json, second.json);
  assert.match(first.json.session, /^[a-z0-9]{20}$/);
  assert.equal(api.edge.fn.calls.length, 1);
  assert.equal((await retry({ ...body, argv: ['sh'] })).json.error.code, 'idempotency_mismatch');
});

test('sessions and pools are those of the key; ending one ends it', async () => {
  await using api = await served();
  const { secret } = api.keys.create({ name: 'other', scopes: ['sandboxes'] });
  const other = (method: string, path: string, body?: unknown) =>
    api.call(method, path, body, { authorization: `Bearer ${secret}` });
  const call = { image: IMAGE, argv: ['bash'], session: 'mine', sessionIdleS: 5 };
  const { json } = await api.call('POST', '/v1/fn', call);
  assert.equal(json.session, 'mine');
  assert.deepEqual(api.edge.fn.calls[0]!.session, { name: 'mine', idleTimeoutS: 5 });
  await other('POST', '/v1/fn', call);
  const names = async (ask: typeof other) => (await ask('GET', '/v1/fn/sessions')).json.items.length;
  assert.deepEqual([await names(api.call), await names(other)], [2, 1], 'an admin sees all');
  const pool = (await other('POST', '/v1/fn/warm', { image: IMAGE, count: 2 })).json;
  assert.deepEqual([pool.ready, pool.image], [2, IMAGE]);
  await api.call('POST', '/v1/fn/warm', { image: IMAGE });
  assert.equal((await other('GET', '/v1/fn/pools')).json.items.length, 1);
  assert.equal((await other('DELETE', '/v1/fn/sessions/mine')).status, 204);
  assert.equal((await other('DELETE', '/v1/fn/sessions/mine')).json.error.code, 'session_not_found');
  assert.equal((await api.call('DELETE', '/v1/fn/sessions/mine')).status, 204);
  assert.equal((await api.call('POST', '/v1/fn/warm', { image: IMAGE, count: 1e6 })).json.error.code, 'limit_too_high');
});

test('a key needs the scope of sandboxes', async () => {
  await using api = await served();
  const { secret } = api.keys.create({ name: 'other', scopes: ['images'] });
  for (const path of ['/v1/fn', '/run_code']) {
    const call = (authorization: string) => api.call('POST', path, {}, { authorization });
    assert.equal((await call(`Bearer ${secret}`)).json.error.code, 'forbidden');
    assert.equal((await call('')).json.error.code, 'unauthenticated');
  }
});

test('a full node is an error as everywhere', async () => {
  await using api = await served();
  api.edge.fn.refusal = new VivError('node_full', 'no room');
  const { status, json } = await api.call('POST', '/v1/fn', { image: IMAGE, argv: ['bash'] });
  assert.deepEqual([status, json.error.code, json.error.retryable], [503, 'node_full', true]);
});
