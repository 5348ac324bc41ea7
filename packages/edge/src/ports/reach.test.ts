import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { FakeClock } from '@vivarium/core';
import { Reach } from '@vivarium/protocol';
import type { Box } from '../lifecycle/box.ts';
import { EdgeMetrics } from '../metrics/edge-metrics.ts';
import { Reaches } from './reach.ts';
import { reachToken } from './reach-token.ts';

type Note = { port: number; path: string; status: number; bytesIn: number; bytesOut: number };

let upstream: Server;
let url: string;
let answer: (request: IncomingMessage, response: import('node:http').ServerResponse) => void;

before(async () => {
  upstream = createServer((request, response) => answer(request, response));
  upstream.on('upgrade', (request, socket) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${request.headers.upgrade}\r\nConnection: Upgrade\r\n\r\n`,
    );
    socket.pipe(socket);
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
});
after(() => {
  upstream.close();
  upstream.closeAllConnections();
});

/** A sandbox whose program connects to its port, and what is journalled of it. */
async function sandbox(reach: Partial<Reach> = {}) {
  let connected: (stream: Duplex) => void = () => {};
  const notes: Note[] = [];
  const listener = {
    port: 8000,
    tag: Buffer.alloc(0),
    onConnection: (take: typeof connected) => (connected = take),
    close: () => {},
  };
  const box = {
    id: 'sandbox-id',
    row: {
      token: 'tok',
      reach: [Reach.parse({ port: 8000, url, headers: { authorization: 'Bearer secret' }, ...reach })],
    },
    cell: { retainedListeners: () => [], listenTcp: async () => listener },
    reachBytes: null,
    onEnd: [] as (() => void)[],
    context: { clock: new FakeClock(), metrics: new EdgeMetrics() },
    touch: () => {},
    note: (_type: string, data: Note) => notes.push(data),
  };
  const reaches = new Reaches();
  await reaches.arm(box as unknown as Box);
  /** Our ends of the connections. */
  const ends = new Map<Duplex, Duplex>();
  const connect = () => {
    const [inside, outside] = duplexPair();
    connected(outside);
    ends.set(inside, outside);
    return inside;
  };
  const agent = Object.assign(new Agent(), { createConnection: connect });
  const call = async (
    path: string,
    options: { method?: string; headers?: Record<string, string>; body?: string } = {},
  ) => {
    const { body, ...rest } = options;
    const sent = request({ host: 'inside', path, agent, ...rest });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: response.statusCode, headers: response.headers, body: await text(response) };
  };
  return { box, notes, connect, ends, call, close: () => reaches.close() };
}

test('a call reaches the endpoint with its secrets; forged and hop-by-hop headers do not', async () => {
  let seen: IncomingMessage | undefined;
  answer = (request, response) => {
    seen = request;
    request.pipe(response.writeHead(201, { 'x-answer': '1' }));
  };
  const inside = await sandbox();
  const headers = {
    'x-vivarium-token': 'forged',
    connection: 'keep-alive, x-mine',
    'x-mine': '1',
    authorization: 'Bearer own',
    'x-kept': 'k',
  };
  const got = await inside.call('/v1/chat?x=1', { method: 'POST', headers, body: 'question' });
  assert.deepEqual([got.status, got.body, got.headers['x-answer']], [201, 'question', '1']);
  assert.deepEqual([seen!.url, seen!.method, seen!.headers.host], ['/v1/chat?x=1', 'POST', new URL(url).host]);
  const {
    authorization,
    'x-vivarium-token': token,
    'x-vivarium-sandbox': id,
    'x-mine': mine,
    'x-kept': kept,
  } = seen!.headers;
  assert.deepEqual(
    { authorization, token, id, mine, kept },
    { authorization: 'Bearer secret', token: reachToken('tok', 8000), id: 'sandbox-id', mine: undefined, kept: 'k' },
  );
  const [note] = inside.notes;
  assert.deepEqual(
    [note!.path, note!.status, note!.bytesOut > 0, note!.bytesIn > 0],
    ['/v1/chat?x=1', 201, true, true],
  );
  inside.close();
});

/** An endpoint that answers every request head with `ok` and keeps all that came, connection by connection. */
async function recorder() {
  const connections: string[] = [];
  const server = createTcpServer((socket) => {
    const index = connections.push('') - 1;
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      connections[index] += chunk.toString('latin1');
      if (/\r\n\r\n|^0\r\n/m.test(chunk.toString('latin1')))
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    connections,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close(),
  };
}

/** Writes bytes and reads one answer's first line. */
async function raw(inside: Awaited<ReturnType<typeof sandbox>>, bytes: string): Promise<string> {
  const stream = inside.connect();
  stream.write(bytes, 'latin1');
  for await (const chunk of stream) return String(chunk).split('\r\n')[0]!;
  return '';
}

const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: x\r\nX-Vivarium-Sandbox: forged\r\n\r\n';

for (const [name, head, body] of [
  ['a GET with chunks', 'Transfer-Encoding: chunked', `${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`],
  ['a GET with a length', `Content-Length: ${SMUGGLED.length}`, SMUGGLED],
  [
    'a length that Connection names',
    `Content-Length: ${SMUGGLED.length}\r\nConnection: keep-alive, content-length`,
    SMUGGLED,
  ],
] as const) {
  test(`a body is never taken for a next request: ${name}`, async () => {
    const bodies: string[] = [];
    const paths: string[] = [];
    answer = (request, response) => {
      paths.push(request.url!);
      void text(request).then((body) => bodies.push(body) && response.end('ok'));
    };
    const inside = await sandbox();
    assert.equal(await raw(inside, `GET /first HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n${body}`), 'HTTP/1.1 200 OK');
    assert.equal((await inside.call('/second')).body, 'ok');
    assert.deepEqual([paths, bodies[0]], [['/first', '/second'], SMUGGLED]);
    inside.close();
  });
}

test('a request to upgrade announces no body that never comes', async () => {
  const endpoint = await recorder();
  const inside = await sandbox({ url: endpoint.url });
  const head = 'Connection: Upgrade\r\nUpgrade: x\r\nContent-Length: 500';
  await raw(inside, `GET /up HTTP/1.1\r\nHost: x\r\n${head}\r\n\r\n`);
  assert.match(endpoint.connections[0]!, /^GET \/up /);
  assert.doesNotMatch(endpoint.connections[0]!, /content-length/i);
  inside.close();
  endpoint.close();
});

test('only what is below the named path is reached, however the way out is spelled', async () => {
  const paths: string[] = [];
  answer = (request, response) => {
    paths.push(request.url!);
    response.end('ok');
  };
  const inside = await sandbox({ url: `${url}/v1` });
  const line = (target: string) => raw(inside, `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
  const ways = [
    '/../admin',
    '/a/..',
    '/%2e%2e/admin',
    '/%252e%252E/admin',
    '/..%2fadmin',
    '/\\..\\admin',
    '/..;/admin',
  ];
  for (const way of [...ways, 'http://other.example/../admin'])
    assert.equal(await line(way), 'HTTP/1.1 403 Forbidden', way);
  assert.deepEqual(paths, []);
  for (const way of ['/a..b/...?q=/../x', 'http://other.example/x', 'http://other.example?q', '/%zz'])
    assert.equal(await line(way), 'HTTP/1.1 200 OK', way);
  assert.deepEqual(paths, ['/v1/a..b/...?q=/../x', '/v1/x', '/v1/?q', '/v1/%zz']);
  assert.equal(await raw(inside, 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n'), 'HTTP/1.1 403 Forbidden');
  assert.equal(await raw(inside, 'CONNECT other.example:80 HTTP/1.1\r\nHost: x\r\n\r\n'), '');
  inside.close();
});

test('headers of ours are not forged by another spelling of their names', async () => {
  let seen: IncomingMessage | undefined;
  answer = (request, response) => {
    seen = request;
    response.end();
  };
  const inside = await sandbox({ headers: { 'X-Team-Id': 'ours' } });
  await inside.call('/', {
    headers: { x_vivarium_sandbox: 'forged', X_Team_Id: 'forged', 'x-team-id': 'forged', ok_: '1' },
  });
  const { x_vivarium_sandbox, x_team_id, ok_, 'x-team-id': team } = seen!.headers;
  assert.deepEqual([x_vivarium_sandbox, x_team_id, ok_, team], [undefined, undefined, '1', 'ours']);
  inside.close();
});

test('an answer with an impossible status ends its own request only', async () => {
  const odd = createTcpServer((socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 042 Odd\r\nContent-Length: 0\r\n\r\n')),
  );
  odd.listen(0, '127.0.0.1');
  await once(odd, 'listening');
  const inside = await sandbox({ url: `http://127.0.0.1:${(odd.address() as AddressInfo).port}` });
  assert.equal((await inside.call('/')).status, 502);
  inside.close();
  odd.close();
});

test('events of a stream arrive while it is open', async () => {
  let finish = () => {};
  answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    finish = () => response.end('data: 2\n\n');
  };
  const inside = await sandbox();
  const stream = inside.connect();
  stream.write('GET /events HTTP/1.1\r\nHost: x\r\n\r\n');
  let seen = '';
  for await (const chunk of stream) {
    seen += chunk;
    if (seen.includes('data: 1')) finish();
    if (seen.includes('data: 2')) break;
  }
  assert.match(seen, /200 OK[\s\S]*data: 1[\s\S]*data: 2/);
  inside.close();
});

test('a WebSocket goes through in both directions', async () => {
  const inside = await sandbox();
  const stream = inside.connect();
  stream.write('GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  let seen = '';
  for await (const chunk of stream) {
    seen += chunk;
    if (seen.endsWith('\r\n\r\n')) stream.write('frame');
    if (seen.endsWith('frame')) break;
  }
  assert.match(seen, /101 Switching Protocols/);
  inside.close();
});

test('an endpoint that is down is a 502 that says so', async () => {
  const inside = await sandbox({ url: 'http://127.0.0.1:1' });
  const got = await inside.call('/');
  assert.equal(got.status, 502);
  assert.equal(JSON.parse(got.body).error.code, 'reach_unavailable');
  assert.equal(inside.notes[0]!.status, 502);
  inside.close();
});

test('beyond its bytes the endpoint is closed, by name', async () => {
  answer = (_request, response) => response.end('y'.repeat(5000));
  const inside = await sandbox({ maxBytes: 4000 });
  await inside.call('/big').catch(() => {});
  const got = await inside.call('/again');
  assert.equal(got.status, 403);
  assert.match(JSON.parse(got.body).error.message, /maxBytes of 4000/);
  inside.close();
});

test('beyond its bytes it takes no WebSockets either', async () => {
  answer = (_request, response) => response.end('y'.repeat(5000));
  const inside = await sandbox({ maxBytes: 4000 });
  await inside.call('/big').catch(() => {});
  const stream = inside.connect();
  stream.write('GET /socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  assert.match(await text(stream), /^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*reach_denied/);
  inside.close();
});

test('the token an endpoint gets differs by sandbox and port and is not the sandbox’s own', () => {
  const tokens = [reachToken('tok', 1), reachToken('tok', 2), reachToken('other', 1), 'tok'];
  assert.equal(new Set(tokens).size, 4);
});

test('more connections than allowed are closed; noise ends its connection only', async () => {
  answer = (_request, response) => response.end('fine');
  const inside = await sandbox({ maxConnections: 2 });
  const [a, b, c] = [inside.connect(), inside.connect(), inside.connect()];
  assert.deepEqual(
    [a, b, c].map((stream) => inside.ends.get(stream!)!.destroyed),
    [false, false, true],
  );
  const closed = once(inside.ends.get(a!)!, 'close');
  a!.write('\0\0\0 not HTTP\r\n\r\n');
  await closed;
  assert.equal(inside.ends.get(b!)!.destroyed, false);
  assert.equal((await inside.call('/')).body, 'fine');
  inside.close();
});
