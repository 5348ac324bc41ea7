import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { Vivarium } from './client.ts';
import { collect } from './page.ts';
import { SANDBOX_ID } from './testing/fake-exec.ts';
import { errorAnswer, FakeServer } from './testing/fake-server.ts';

const BASE = `/v1/sandboxes/${SANDBOX_ID}/files`;
let server: FakeServer;
let viv: Vivarium;
before(async () => {
  server = await FakeServer.start();
  viv = new Vivarium({ url: server.url, apiKey: 'viv_test', retryMs: 500 });
});
after(async () => {
  viv.close();
  await server.close();
});
beforeEach(() => {
  server.seen.length = 0;
  server.routes.clear();
});
const files = () => viv.sandboxes.ref(SANDBOX_ID).files;
const query = () => Object.fromEntries(new URL(server.seen[0]!.path, 'http://x').searchParams);

test('text goes as path, other bytes as base64, and what is not given is left to the server', async () => {
  server.routes.set(`GET ${BASE}/content`, { raw: Buffer.from('é') });
  assert.equal(await files().readText('/a b/ü\n&x=1'), 'é');
  assert.deepEqual(query(), { path: '/a b/ü\n&x=1' });
  server.seen.length = 0;
  await files().read(new Uint8Array([0x2f, 0xff]), { user: 'me', offset: 5, length: 10 });
  assert.deepEqual(query(), { pathB64: 'L/8=', user: 'me' });
  assert.equal(server.seen[0]!.headers.range, 'bytes=5-14');
});

test('metadata goes as items, one for each key', async () => {
  server.routes.set(`PUT ${BASE}/content`, { json: { sizeBytes: 1 } });
  await files().write('/f', 'x', { metadata: { author: 'me', empty: '', 'a&b': 'c=d' } });
  const { searchParams } = new URL(server.seen[0]!.path, 'http://x');
  assert.deepEqual(searchParams.getAll('metadata'), ['author=me', 'empty=', 'a&b=c=d']);
});

test('whatever holds bytes can be written', async () => {
  server.routes.set(`PUT ${BASE}/content`, { json: { sizeBytes: 3 } });
  async function* generate() {
    yield 'ab';
    yield new TextEncoder().encode('c');
  }
  const stream = new Blob(['abc']).stream();
  for (const data of [
    'abc',
    new TextEncoder().encode('abc'),
    new TextEncoder().encode('abc').buffer,
    new Blob(['abc']),
    stream,
    generate(),
  ]) {
    server.seen.length = 0;
    await files().write('/f', data, { mode: 0o7, owner: 'a:b', fsync: true });
    assert.equal(server.seen[0]!.body.toString(), 'abc');
    assert.deepEqual(query(), { path: '/f', mode: '007', owner: 'a:b', fsync: 'true' });
  }
});

test('a source that fails ends the upload with its error', async () => {
  async function* broken() {
    yield 'x';
    throw new Error('disk on fire');
  }
  await assert.rejects(files().write('/f', broken()), /^Error: disk on fire$/);
});

test('an answer that breaks off is connection_lost, never a short file', async () => {
  server.routes.set(`GET ${BASE}/content`, {
    raw: Buffer.alloc(10),
    headers: { 'content-length': '1000' },
    cutAfter: true,
  });
  await assert.rejects(files().read('/f'), { code: 'connection_lost' });
  await assert.rejects(new Response(await files().readStream('/f')).arrayBuffer(), { code: 'connection_lost' });
});

test('a list is read while it comes and ends with the error that ended it', async () => {
  const lines = `{"path":"a"}\n{"path":"b"}\n${JSON.stringify(new VivError('path_denied', 'no').toBody())}\n`;
  server.routes.set(`GET ${BASE}/list`, { raw: Buffer.from(lines) });
  const seen: string[] = [];
  await assert.rejects(
    async () => {
      for await (const entry of files().list('/', { depth: 3 })) seen.push(entry.path);
    },
    { code: 'path_denied' },
  );
  assert.deepEqual(seen, ['a', 'b']);
  assert.equal(server.seen[0]!.headers.accept, 'application/x-ndjson');
});

test('exists is false for a missing path only', async () => {
  const route = `GET ${BASE}/stat`;
  server.routes.set(route, { json: {} });
  assert.equal(await files().exists('/a'), true);
  server.routes.set(route, errorAnswer(new VivError('path_not_found', 'x')));
  assert.equal(await files().exists('/a'), false);
  server.routes.set(route, errorAnswer(new VivError('path_denied', 'x')));
  await assert.rejects(files().exists('/a'), { code: 'path_denied' });
});

test('a page of a list is fetched when it is needed', async () => {
  server.routes.set('GET /v1/images', (seen) => {
    const cursor = new URL(seen.path, 'http://x').searchParams.get('cursor');
    return { json: cursor ? { items: [3], nextCursor: null } : { items: [1, 2], nextCursor: 'c' } };
  });
  assert.deepEqual(await collect(viv.images.list()), [1, 2, 3]);
});

test('a proxy’s error page is named with its status', async () => {
  server.routes.set('GET /v1/node', { status: 403, raw: Buffer.from('<html>blocked') });
  await assert.rejects(viv.node(), { code: 'internal', message: /HTTP 403 from .*<html>blocked/ });
});

test('an import hands on its progress and fails with the server’s error', async () => {
  const progress = { type: 'progress', stage: 'unpack', message: 'x' };
  const error = new VivError('import_failed', 'no such suite', { details: { output: 'E: …' } });
  server.routes.set('POST /v1/images/import', {
    raw: Buffer.from(
      `${JSON.stringify(progress)}\n${JSON.stringify({ type: 'error', error: error.toBody().error })}\n`,
    ),
  });
  const seen: unknown[] = [];
  const importing = viv.images.import(
    { name: 'a@1', source: { type: 'builtin', name: 'base' } },
    { onProgress: (each) => seen.push(each) },
  );
  await assert.rejects(importing, { code: 'import_failed', details: { output: 'E: …' } });
  assert.deepEqual(seen, [progress]);
});
