import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { VivError } from '@vivarium/protocol';
import fc from 'fast-check';
import { pino } from 'pino';
import { z } from 'zod';
import { goneSignal } from '../../http/gone-signal.ts';
import type { E2bContext } from '../context.ts';
import { type EnvdCall, type RpcTable, streaming, unary, upload } from './envd-call.ts';
import { serveRpc } from './rpc.ts';

const Message = z.object({ text: z.string().optional(), count: z.number().optional() });
const CHUNK_BYTES = 64 * 1024;

/** What a test looks at of the calls that were served. */
const seen = { aborted: 0, sent: 0, floodEnded: Promise.withResolvers<void>() };

const TABLE: RpcTable = {
  '/t.T/Echo': unary(Message, (_call, message) => message, { maxBytes: 1000 }),
  '/t.T/Wait': unary(Message, (call) => new Promise(() => call.signal.addEventListener('abort', () => seen.aborted++))),
  '/t.T/Fail': unary(Message, (_call, { text }) => {
    throw text ? new VivError(text as 'path_not_found', `it is ${text}`) : new Error('a secret');
  }),
  '/t.T/Count': streaming(Message, async (_call, { count = 0 }, stream) => {
    for (let i = 0; i < count; i++) await stream.send({ i });
    if (count > 2) throw new VivError('path_exists', 'more than two');
  }),
  '/t.T/Idle': streaming(Message, async (call, _message, stream) => {
    await stream.send({ start: {} });
    stream.keepAlive({ keepalive: {} });
    await new Promise<void>((resolve) => call.signal.addEventListener('abort', () => resolve()));
    seen.aborted++;
  }),
  '/t.T/Bytes': streaming(z.object({ b64: z.string() }), async (_call, { b64 }, stream) => {
    await stream.sendBytes('{"bytes":"', Buffer.from(b64, 'base64'), '"}');
  }),
  '/t.T/Flood': streaming(Message, async (_call, _message, stream) => {
    try {
      for (;;) {
        await stream.sendBytes('{"b":"', Buffer.alloc(CHUNK_BYTES), '"}');
        seen.sent += CHUNK_BYTES;
      }
    } finally {
      seen.floodEnded.resolve();
    }
  }),
  '/t.T/Dies': streaming(Message, async (_call, _message, stream) => {
    await stream.send({ start: {} });
    throw new VivError('sandbox_dead', 'the sandbox has ended');
  }),
  '/t.T/Join': upload(
    Message,
    async (_call, messages) => {
      const texts: string[] = [];
      for await (const { text = '' } of messages) texts.push(text);
      return { text: texts.join('') };
    },
    { maxBytes: 100 },
  ),
};

const lines: string[] = [];
const context = {
  log: pino({ level: 'error' }, { write: (line: string) => void lines.push(line) }),
} as unknown as E2bContext;
const server = createServer((req, res) => {
  const call: EnvdCall = { context, sandbox: 's', user: 'user', req, res, signal: goneSignal(res) };
  void serveRpc(TABLE, call, req.url!);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
const port = (server.address() as AddressInfo).port;
test.after(() => {
  server.closeAllConnections();
  server.close();
});

type Answer = { status: number; headers: Headers; body: Buffer };

async function call(path: string, body: Uint8Array | string, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body: body as BodyInit });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, headers: response.headers, body: bytes };
}

async function callUnary(path: string, message: unknown, headers: Record<string, string> = {}) {
  const body = typeof message === 'string' || message instanceof Uint8Array ? message : JSON.stringify(message);
  const answer = await call(path, body, { 'content-type': 'application/json', ...headers });
  return { status: answer.status, json: JSON.parse(answer.body.toString()) };
}

function envelope(message: unknown, flags = 0): Buffer {
  const body = message instanceof Uint8Array ? message : Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

function frames(body: Buffer): { flags: number; json: unknown }[] {
  const all = [];
  for (let at = 0; at < body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    all.push({ flags: body[at]!, json: JSON.parse(body.subarray(at + 5, end).toString()) });
    at = end;
  }
  return all;
}

async function callStream(path: string, body: Uint8Array, headers: Record<string, string> = {}) {
  const answer = await call(path, body, { 'content-type': 'application/connect+json', ...headers });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'application/connect+json');
  return frames(answer.body);
}

test('a unary call is answered with its message', async () => {
  assert.deepEqual(await callUnary('/t.T/Echo', { text: 'é', more: 1 }), { status: 200, json: { text: 'é' } });
  assert.deepEqual(await callUnary('/t.T/Echo', ''), { status: 200, json: {} });
  const type = { 'content-type': 'application/json; charset=utf-8' };
  assert.deepEqual(await callUnary('/t.T/Echo', { count: 1 }, type), { status: 200, json: { count: 1 } });
});

test('compressed messages are read, within the same bound', async () => {
  const gzip = { 'content-encoding': 'gzip' };
  assert.deepEqual((await callUnary('/t.T/Echo', gzipSync('{"count":2}'), gzip)).json, { count: 2 });
  const bomb = gzipSync(JSON.stringify({ text: 'x'.repeat(100_000) }));
  assert.equal((await callUnary('/t.T/Echo', bomb, gzip)).json.code, 'resource_exhausted');
  assert.equal((await callUnary('/t.T/Echo', 'no gzip', gzip)).json.code, 'invalid_argument');
  assert.equal((await callUnary('/t.T/Echo', '{}', { 'content-encoding': 'br' })).json.code, 'unimplemented');
  const body = envelope(gzipSync('{"count":1}'), 1);
  const streamed = await callStream('/t.T/Count', body, { 'connect-content-encoding': 'gzip' });
  assert.deepEqual(
    streamed.map(({ json }) => json),
    [{ i: 0 }, {}],
  );
  assert.match(JSON.stringify(await callStream('/t.T/Count', body)), /without Connect-Content-Encoding/);
});

test('what is no call says so in the way of the protocol', async () => {
  const unknown = await callUnary('/t.T/Nope', {});
  assert.deepEqual([unknown.status, unknown.json.code], [404, 'unimplemented']);
  const media = await call('/t.T/Echo', '{}', { 'content-type': 'application/proto' });
  assert.deepEqual([media.status, media.headers.get('accept-post')], [415, 'application/json']);
  assert.equal((await call('/t.T/Count', '{}', { 'content-type': 'application/json' })).status, 415);
  const got = await fetch(`http://127.0.0.1:${port}/t.T/Echo`);
  assert.deepEqual([got.status, got.headers.get('allow')], [405, 'POST']);
  for (const body of ['{', '[]', 'null', '{"count":"x"}', Buffer.from([0xff])]) {
    const { status, json } = await callUnary('/t.T/Echo', body);
    assert.deepEqual([status, json.code], [400, 'invalid_argument'], String(body));
  }
  assert.equal((await callUnary('/t.T/Echo', { text: 'x'.repeat(2000) })).json.code, 'resource_exhausted');
});

test('errors keep their message, but not those that are nobody’s business', async () => {
  assert.deepEqual(await callUnary('/t.T/Fail', { text: 'path_not_found' }), {
    status: 404,
    json: { code: 'not_found', message: 'it is path_not_found' },
  });
  const secret = await callUnary('/t.T/Fail', {});
  assert.equal(secret.status, 500);
  assert.match(secret.json.message, /^internal error \(request /);
  assert.match(lines.join(), /a secret/);
});

test('a stream ends with a frame that says how', async () => {
  assert.deepEqual(await callStream('/t.T/Count', envelope({ count: 2 })), [
    { flags: 0, json: { i: 0 } },
    { flags: 0, json: { i: 1 } },
    { flags: 2, json: {} },
  ]);
  const failed = await callStream('/t.T/Count', envelope({ count: 3 }));
  assert.deepEqual(failed.at(-1), { flags: 2, json: { error: { code: 'already_exists', message: 'more than two' } } });
  for (const body of [Buffer.alloc(0), Buffer.from([0, 0, 0, 0, 9, 1]), envelope([])]) {
    const [only, ...rest] = await callStream('/t.T/Count', body);
    assert.deepEqual([only?.flags, rest.length], [2, 0]);
    assert.match(JSON.stringify(only), /invalid_argument/);
  }
});

test('bytes of any content and length arrive as they are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
      const b64 = Buffer.from(bytes).toString('base64');
      const [data] = await callStream('/t.T/Bytes', envelope({ b64 }));
      assert.deepEqual(data!.json, { bytes: b64 });
    }),
    { numRuns: 30 },
  );
});

test('a deadline ends the call and aborts what runs for it', async () => {
  const before = seen.aborted;
  const late = await callUnary('/t.T/Wait', {}, { 'connect-timeout-ms': '30' });
  assert.deepEqual([late.status, late.json.code], [504, 'deadline_exceeded']);
  const stream = await callStream('/t.T/Idle', envelope({}), { 'connect-timeout-ms': '30' });
  assert.match(JSON.stringify(stream.at(-1)), /deadline_exceeded/);
  assert.equal(seen.aborted, before + 2);
  const wrong = await callStream('/t.T/Idle', envelope({}), { 'connect-timeout-ms': '1s' });
  assert.match(JSON.stringify(wrong), /Connect-Timeout-Ms \\"1s\\"/);
});

test('a stream on which nothing happens is kept alive as often as the client asks', async () => {
  const headers = { 'connect-timeout-ms': '1600', 'keepalive-ping-interval': '1' };
  const got = await callStream('/t.T/Idle', envelope({}), headers);
  assert.deepEqual(
    got.slice(0, 2).map(({ json }) => json),
    [{ start: {} }, { keepalive: {} }],
  );
});

test('a stream whose sandbox goes is cut, so that its client asks for the sandbox', async () => {
  await assert.rejects(callStream('/t.T/Dies', envelope({})), { name: 'TypeError' });
});

test('a client that reads nothing makes the sender wait, one that leaves ends it', async () => {
  seen.sent = 0;
  const req = request({
    port,
    host: '127.0.0.1',
    path: '/t.T/Flood',
    method: 'POST',
    headers: { 'content-type': 'application/connect+json' },
  });
  req.end(envelope({}));
  const res = await new Promise<IncomingMessage>((resolve) => req.on('response', resolve));
  res.on('error', () => {});
  let before = -1;
  while (before !== seen.sent) {
    before = seen.sent;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.ok(seen.sent < 64 * 1024 * 1024, `${seen.sent} bytes were sent to nobody`);
  req.destroy();
  await seen.floodEnded.promise;
});

test('a stream of requests has one answer', async () => {
  const parts = Buffer.concat(['a', 'b', 'ç'].map((text) => envelope({ text })));
  await fc.assert(
    fc.asyncProperty(fc.nat(parts.length), async (cut) => {
      const got = await callPieces([parts.subarray(0, cut), parts.subarray(cut)]);
      assert.deepEqual(
        got.map(({ json }) => json),
        [{ text: 'abç' }, {}],
      );
    }),
    { numRuns: 10 },
  );
  assert.match(JSON.stringify(await callPieces([envelope({ text: 'x'.repeat(200) })])), /resource_exhausted/);
  assert.match(JSON.stringify(await callPieces([parts.subarray(0, -1)])), /within a message/);
  assert.deepEqual((await callPieces([parts, envelope({}, 2), envelope({ text: 'late' })]))[0]!.json, { text: 'abç' });
});

function callPieces(pieces: Uint8Array[]) {
  return new Promise<ReturnType<typeof frames>>((resolve, reject) => {
    const headers = { 'content-type': 'application/connect+json' };
    const req = request({ port, host: '127.0.0.1', path: '/t.T/Join', method: 'POST', headers }, async (res) => {
      const chunks: Buffer[] = [];
      for await (const chunk of res) chunks.push(chunk as Buffer);
      resolve(frames(Buffer.concat(chunks)));
    });
    req.on('error', reject);
    for (const piece of pieces) req.write(piece);
    req.end();
  });
}
