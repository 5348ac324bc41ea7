import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import { WebSocket } from 'ws';
import { type Served, served } from '../testing/served.ts';

/** A program that says these bytes to whoever connects, then hangs up. */
async function saying(api: Served, bytes: string | Uint8Array) {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(bytes));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  api.edge.ports.redirect.set(80, (server.address() as { port: number }).port);
  return { [Symbol.asyncDispose]: async () => void server.close() };
}

const ODD: [string, string, number][] = [
  ['no HTTP at all', 'SSH-2.0-OpenSSH\r\n', 502],
  ['nothing', '', 502],
  ['half a head', 'HTTP/1.1 200 OK\r\ncontent-le', 502],
  ['a status that is none', 'HTTP/1.1 042 Odd\r\ncontent-length: 0\r\n\r\n', 502],
  ['control characters in the reason', 'HTTP/1.1 200 O\x01\x7fK\r\ncontent-length: 0\r\n\r\n', 200],
  ['control characters in a header', 'HTTP/1.1 200 OK\r\nx: a\x01b\r\ncontent-length: 0\r\n\r\n', 502],
  [
    'a switch of protocols that nobody asked for',
    'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    502,
  ],
  [
    'length and chunks at once',
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    502,
  ],
  ['headers without end', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}`, 502],
];

test('whatever a program inside answers, only its own request suffers', async (t) => {
  await using api = await served();
  const { id } = await api.create();
  for (const [name, answer, status] of ODD) {
    await t.test(name, async () => {
      await using _ = await saying(api, answer);
      assert.equal((await api.call('GET', `/v1/sandboxes/${id}/ports/80/`)).status, status);
    });
  }
  assert.deepEqual(api.log, []);
});

test('a body that is shorter or longer than promised never becomes another answer', async () => {
  await using api = await served();
  const { id } = await api.create();
  {
    await using _ = await saying(api, 'HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nshort');
    await assert.rejects(api.call('GET', `/v1/sandboxes/${id}/ports/80/`));
  }
  await using _ = await saying(
    api,
    'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil',
  );
  assert.equal((await api.call('GET', `/v1/sandboxes/${id}/ports/80/`)).text, 'ok');
  assert.equal((await api.call('GET', '/healthz')).json.status, 'ok');
});

test('random answers to requests and to WebSockets never harm the server', async () => {
  await using api = await served();
  const { id } = await api.create();
  const line = fc.oneof(
    fc.constantFrom(
      'HTTP/1.1 200 OK',
      'HTTP/1.1 101 S',
      'connection: upgrade',
      'upgrade: websocket',
      'content-length: 3',
      'transfer-encoding: chunked',
      '',
      '3',
      'abc',
    ),
    fc.string(),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 8 }), async (lines) => {
      await using _ = await saying(api, lines.join('\r\n'));
      await api.call('GET', `/v1/sandboxes/${id}/ports/80/`).catch(() => {});
      const ws = new WebSocket(`${api.url.replace('http', 'ws')}/v1/sandboxes/${id}/ports/80/`, {
        headers: { authorization: `Bearer ${api.secret}` },
        handshakeTimeout: 2_000,
      });
      ws.on('error', () => {});
      ws.on('open', () => ws.terminate());
      await new Promise((resolve) => ws.on('close', resolve));
    }),
    { numRuns: 40 },
  );
  assert.equal((await api.call('GET', '/healthz')).json.status, 'ok');
});
