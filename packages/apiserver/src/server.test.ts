import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { MuxClient } from './testing/mux-client.ts';
import { served } from './testing/served.ts';

const raw = async (port: number) => {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
};

async function answer(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  await once(socket, 'close');
  return text;
}

test('a thousand connections that send nothing disturb nobody and are closed after the time-out', async () => {
  await using api = await served({ headersTimeoutMs: 1_000 });
  const sockets = await Promise.all(Array.from({ length: 1_000 }, () => raw(api.port)));
  const closed = Promise.all(sockets.map((socket) => once(socket.resume(), 'close')));
  assert.equal((await api.call('GET', '/v1/node')).status, 200);
  await closed;
});

test('headers that come one byte at a time are cut off', async () => {
  await using api = await served({ headersTimeoutMs: 300 });
  const socket = await raw(api.port);
  socket.on('error', () => {});
  const text = answer(socket);
  const timer = setInterval(() => socket.write('G'), 50);
  assert.match(await text, /^HTTP\/1\.1 4\d\d/);
  clearInterval(timer);
});

test('a JSON body that does not arrive in time is a request_timeout, and the connection ends', async () => {
  await using api = await served({ bodyTimeoutMs: 200 });
  const socket = await raw(api.port);
  socket.write(
    `POST /v1/sandboxes HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${api.secret}\r\ncontent-length: 50\r\n\r\n{"ima`,
  );
  const text = await answer(socket);
  assert.match(text, /^HTTP\/1\.1 504/);
  assert.match(text, /request_timeout/);
});

test('an upload on which nothing moves is cut', async () => {
  await using api = await served({ idleTimeoutMs: 200 });
  const { id } = await api.create();
  const socket = await raw(api.port);
  socket.on('error', () => {});
  socket.write(
    `PUT /v1/sandboxes/${id}/files/content?path=/a HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${api.secret}\r\ncontent-length: 50\r\n\r\nxx`,
  );
  await once(socket.resume(), 'close');
  assert.equal(api.edge.files.contents.has('/a'), false);
});

test('connections beyond the maximum are refused, and room comes back', async () => {
  await using api = await served({ maxConnections: 5 });
  const sockets = await Promise.all(Array.from({ length: 5 }, () => raw(api.port)));
  const sixth = connect(api.port, '127.0.0.1');
  sixth.on('error', () => {});
  await once(sixth, 'close');
  for (const socket of sockets) socket.destroy();
  let status = 0;
  while (status !== 200)
    status = await api.call('GET', '/v1/node').then(
      (response) => response.status,
      () => 0,
    );
});

test('what is no HTTP gets a short answer and nothing else', async () => {
  await using api = await served();
  const socket = await raw(api.port);
  socket.write('\x16\x03\x01 hello\r\n\r\n');
  assert.match(await answer(socket), /^HTTP\/1\.1 400 Bad Request/);
  const large = await raw(api.port);
  large.on('error', () => {});
  large.write(`GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`);
  assert.match(await answer(large), /^HTTP\/1\.1 431/);
});

test('an upgrade to something other than a WebSocket is an ordinary request', async () => {
  await using api = await served();
  const socket = await raw(api.port);
  socket.write(
    'GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: Upgrade, HTTP2-Settings, close\r\nupgrade: h2c\r\nhttp2-settings: AA\r\n\r\n',
  );
  assert.match(await answer(socket), /^HTTP\/1\.1 200/);
});

test('a WebSocket where none is gets route_not_found', async () => {
  await using api = await served();
  const socket = await raw(api.port);
  socket.write('GET /v1/other HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n');
  assert.match(await answer(socket), /^HTTP\/1\.1 404[\s\S]*route_not_found/);
});

test('close lets a request finish, refuses new ones and says goodbye to connections', async () => {
  const api = await served({ graceMs: 5_000 });
  const { id } = await api.create();
  const client = await new MuxClient(api.url, api.secret).ready();
  const silent = await raw(api.port);
  const slow = api.call('GET', `/v1/sandboxes/${id}/wait?state=ended&waitMs=300`);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const pending = await raw(api.port);
  pending.write('GET /healthz HT');
  await new Promise((resolve) => setTimeout(resolve, 20));
  const closing = api.close();
  pending.write('TP/1.1\r\nhost: a\r\n\r\n');
  assert.match(await answer(pending), /503[\s\S]*shutting_down/);
  assert.equal((await slow).status, 200);
  assert.equal((await client.end()).code, 1001);
  await closing;
  silent.destroy();
});

test('close is bounded when a client never lets go', async () => {
  const api = await served({ graceMs: 100 });
  const { id } = await api.create();
  const held = api.call('GET', `/v1/sandboxes/${id}/wait?state=ended&waitMs=60000`).catch(() => 'cut');
  await new Promise((resolve) => setTimeout(resolve, 50));
  await api.close();
  assert.equal(await held, 'cut');
});

test('a port that is taken is a clear error', async () => {
  await using api = await served();
  await assert.rejects(served({ port: api.port }), {
    code: 'precondition_failed',
    message: `cannot listen on 127.0.0.1:${api.port}: something else uses it`,
  });
});

const UPGRADE = 'connection: upgrade\r\nupgrade: websocket\r\n';

test('a WebSocket that is asked for behind requests without an answer yet gets its own after theirs', async () => {
  await using api = await served();
  const { id } = await api.create();
  const key = `authorization: Bearer ${api.secret}\r\n`;
  const version =
    'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: vivarium.v1\r\n';
  const asked = {
    '/v1/nothing': '404',
    [`/v1/sandboxes/${id}/ports/9/`]: '502',
    [`/v1/sandboxes/${id}/ports/0/`]: '400',
    '/v1/connect': '101',
  };
  for (const [path, status] of Object.entries(asked)) {
    const socket = await raw(api.port);
    const before = `GET /v1/node HTTP/1.1\r\nhost: a\r\n${key}\r\n`;
    socket.write(`${before}${before}GET ${path} HTTP/1.1\r\nhost: a\r\n${key}${version}${UPGRADE}\r\n`);
    let text = '';
    const statuses = () => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code);
    for await (const chunk of socket) {
      text += chunk;
      if (statuses().length === 3) break;
    }
    assert.deepEqual(statuses(), ['200', '200', status], path);
  }
  assert.equal((await api.call('GET', '/v1/node')).status, 200);
});

test('a WebSocket behind a request whose client goes before the answer is nothing', async () => {
  await using api = await served();
  const socket = await raw(api.port);
  const body = `POST /v1/sandboxes HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${api.secret}\r\ncontent-length: 2\r\n\r\n{}`;
  socket.write(`${body}GET /v1/connect HTTP/1.1\r\nhost: a\r\n${UPGRADE}\r\n`, () => socket.destroy());
  await once(socket, 'close');
  assert.equal((await api.call('GET', '/v1/node')).status, 200);
});

test('a client whose WebSocket is refused is heard to its end, whatever it sends on', async () => {
  await using api = await served();
  const { id } = await api.create();
  for (const path of ['/v1/nothing', `/v1/sandboxes/${id}/ports/9/`, '/v1/connect']) {
    const socket = await raw(api.port);
    socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${api.secret}\r\n${UPGRADE}\r\n`);
    // More than fits into the buffers on the way: it is gone only when the server has read it.
    socket.write(Buffer.alloc(16 * 1024 * 1024));
    assert.match(await answer(socket), /^HTTP\/1\.1 [45]\d\d /, path);
    assert.equal(socket.writableLength, 0, path);
  }
});
