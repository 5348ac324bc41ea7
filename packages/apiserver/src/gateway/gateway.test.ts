import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { type Served, served } from '../testing/served.ts';

/** A server as a program inside a sandbox would run it, reachable as port 8000 of a new sandbox. */
async function inside(api: Served, listener: (req: IncomingMessage, res: ServerResponse) => void) {
  const server: Server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = (server.address() as { port: number }).port;
  api.edge.ports.redirect.set(8000, port);
  const sandbox = await api.create();
  const close = async () => {
    server.closeAllConnections();
    server.close();
  };
  return {
    server,
    port,
    ...sandbox,
    at: `/v1/sandboxes/${sandbox.id}/ports/8000`,
    [Symbol.asyncDispose]: close,
  };
}

/** Answers with what it saw. */
function echo(req: IncomingMessage, res: ServerResponse): void {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    const seen = {
      method: req.method,
      url: req.url,
      headers: req.headers,
      raw: req.rawHeaders,
      body: Buffer.concat(chunks).toString(),
    };
    res.writeHead(
      201,
      'Made',
      [
        ['Content-Type', 'application/json'],
        ['Set-Cookie', 'a=1'],
        ['Set-Cookie', 'b=2'],
        ['Set-Cookie', 'viv_token = planted; Path=/'],
        ['X-Case', 'Kept'],
      ].flat(),
    );
    res.end(JSON.stringify(seen));
  });
}

test('a request passes with method, path, query, headers and body as they are, and no credential of ours', async () => {
  await using api = await served();
  await using app = await inside(api, echo);
  const headers = {
    'x-own': 'yes',
    cookie: 'own=1; viv_token=zzz; other=2',
    'x-api-key': api.secret,
    te: 'trailers',
    referer: `${api.url}${app.at}/page?viv_token=zzz&own=1`,
    host: 'app.example',
  };
  const {
    status,
    json,
    headers: got,
  } = await api.call('POST', `${app.at}/a%2Fb/?q=1&viv_token=zzz&r=%20`, 'the body', headers);
  assert.equal(status, 201);
  assert.deepEqual([json.method, json.url, json.body], ['POST', '/a%2Fb/?q=1&r=%20', 'the body']);
  assert.equal(json.headers['x-own'], 'yes');
  assert.equal(json.headers.cookie, 'own=1; other=2');
  assert.equal(json.headers.referer, `${api.url}${app.at}/page?own=1`);
  assert.equal(json.headers['x-forwarded-prefix'], app.at);
  assert.equal(json.headers['x-forwarded-for'], '127.0.0.1');
  assert.ok(!JSON.stringify(json).includes('viv_'), 'no key and no token is seen inside');
  assert.deepEqual(got.getSetCookie(), ['a=1', 'b=2'], 'and no cookie in our name comes out');
});

test('the sandbox token opens its ports as header, query or cookie; other tokens do not', async () => {
  await using api = await served();
  await using app = await inside(api, echo);
  const get = async (path: string, headers: Record<string, string> = {}) =>
    fetch(api.url + path, { headers, redirect: 'manual' });
  assert.equal((await get(`${app.at}/`, { 'x-viv-token': app.token })).status, 201);
  const first = await get(`${app.at}/page?viv_token=${app.token}`);
  const cookie = first.headers.getSetCookie().find((line) => line.startsWith('viv_token='))!;
  assert.match(cookie, new RegExp(`; Path=/v1/sandboxes/${app.id}/ports/; HttpOnly; SameSite=Lax$`));
  const second = await get(`${app.at}/style.css`, { cookie: cookie.split(';')[0]! });
  assert.equal(second.status, 201);
  assert.equal((await get(`${app.at}/`)).status, 401);
  assert.equal((await get(`${app.at}/`, { 'x-viv-token': 'wrong' })).status, 401);
  const other = await api.create();
  assert.equal((await get(`${app.at}/`, { 'x-viv-token': other.token })).status, 401);
  assert.equal(
    (await get('/v1/sandboxes/abcdefghij0123456789/ports/80/', { 'x-viv-token': 'x' })).status,
    401,
    'whether it exists is not told',
  );
  assert.equal((await get(`${app.at}/`, { authorization: 'Bearer viv_wrong', 'x-viv-token': app.token })).status, 401);
});

test("a program's own Authorization passes when the token lets the request in", async () => {
  await using api = await served();
  await using app = await inside(api, echo);
  const response = await fetch(`${api.url}${app.at}/`, {
    headers: { 'x-viv-token': app.token, authorization: 'Bearer app-secret' },
  });
  assert.equal(
    ((await response.json()) as { headers: { authorization: string } }).headers.authorization,
    'Bearer app-secret',
  );
});

test('the host form reaches the port by name, and X-Viv-Host replaces Host', async () => {
  await using api = await served({ domain: 'box.example' });
  await using app = await inside(api, echo);
  const get = (headers: Record<string, string>) =>
    new Promise<{ status: number; url: string; headers: Record<string, string> }>((resolve) => {
      request(`${api.url}/deep/path?x=1`, { headers: { 'x-viv-token': app.token, ...headers } }, async (res) => {
        const text = (await res.toArray()).join('');
        resolve({ status: res.statusCode!, ...(JSON.parse(text) as { url: string; headers: Record<string, string> }) });
      }).end();
    });
  const host = `8000-${app.id}.box.example:7700`;
  const seen = await get({ host });
  assert.deepEqual(
    [seen.status, seen.url, seen.headers.host, seen.headers['x-forwarded-prefix']],
    [201, '/deep/path?x=1', host, undefined],
  );
  assert.equal((await get({ host, 'x-viv-host': 'localhost:8000' })).headers.host, 'localhost:8000');
  assert.equal((await get({ host: `8000-${app.id}.evil.example` })).status, 404);
});

test('an event stream arrives event by event, and the program learns when the reader leaves', async () => {
  await using api = await served();
  let say: (text: string) => void = () => {};
  const left = Promise.withResolvers<void>();
  await using app = await inside(api, (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.flushHeaders();
    say = (text) => res.write(text);
    res.on('close', () => left.resolve());
  });
  const response = await fetch(`${api.url}${app.at}/events`, { headers: { 'x-viv-token': app.token } });
  assert.equal(response.headers.get('content-type'), 'text/event-stream', 'headers come before the first event');
  const reader = response.body!.getReader();
  for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
    say(text);
    assert.equal(Buffer.from((await reader.read()).value!).toString(), text);
  }
  await reader.cancel();
  await left.promise;
});

test('a request body streams in while the answer streams out', async () => {
  await using api = await served();
  await using app = await inside(api, (req, res) => void req.pipe(res));
  const req = request(`${api.url}${app.at}/`, { method: 'POST', headers: { 'x-viv-token': app.token } });
  req.write('one');
  const [res] = (await once(req, 'response')) as [IncomingMessage];
  assert.equal(String((await once(res, 'data'))[0]), 'one');
  req.write('two');
  assert.equal(String((await once(res, 'data'))[0]), 'two');
  req.end();
  await once(res, 'end');
});

test('large bodies pass both ways', async () => {
  await using api = await served();
  await using app = await inside(api, (req, res) => void req.pipe(res));
  const body = Buffer.alloc(30 * 1024 * 1024, 'abc');
  const response = await fetch(`${api.url}${app.at}/`, { method: 'PUT', body, headers: { 'x-viv-token': app.token } });
  assert.ok(body.equals(Buffer.from(await response.arrayBuffer())));
});

test('HEAD, 204, 304 and errors pass as they are', async () => {
  await using api = await served();
  await using app = await inside(api, (req, res) => {
    const status = Number(req.url!.slice(1));
    res.writeHead(status, status === 200 ? { 'content-length': 5 } : {});
    res.end(req.method === 'HEAD' || status === 204 || status === 304 ? undefined : 'hello');
  });
  const headers = { 'x-viv-token': app.token };
  const head = await fetch(`${api.url}${app.at}/200`, { method: 'HEAD', headers });
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, '5']);
  for (const status of [204, 304, 404, 500])
    assert.equal((await fetch(`${api.url}${app.at}/${status}`, { headers })).status, status);
});

test('a port without a listener and a program that hangs up are port_closed', async () => {
  await using api = await served();
  await using app = await inside(api, (req) => req.socket.destroy());
  const nobody = await api.call('GET', `/v1/sandboxes/${app.id}/ports/81/`);
  assert.deepEqual([nobody.status, nobody.json.error.code], [502, 'port_closed']);
  const hangup = await api.call('GET', `${app.at}/`);
  assert.deepEqual([hangup.status, hangup.json.error.code, hangup.json.error.details.port], [502, 'port_closed', 8000]);
  assert.equal((await api.call('GET', `/v1/sandboxes/${app.id}/ports/70000/`)).json.error.code, 'invalid_argument');
  assert.equal(
    (await api.call('GET', '/v1/sandboxes/abcdefghij0123456789/ports/80/')).json.error.code,
    'sandbox_not_found',
  );
});

test('a page without the final slash is redirected, so that its relative links work', async () => {
  await using api = await served();
  await using app = await inside(api, echo);
  const response = await api.call('GET', `${app.at}?a=1`);
  assert.deepEqual([response.status, response.headers.get('location')], [308, `${app.at}/?a=1`]);
});

test('a WebSocket passes both ways, and ends on both sides when one leaves', async () => {
  await using api = await served();
  await using app = await inside(api, echo);
  const sockets = new WebSocketServer({ server: app.server });
  const ended = new Promise((resolve) => {
    sockets.on('connection', (socket, req) => {
      socket.send(JSON.stringify({ url: req.url, leaked: JSON.stringify(req.rawHeaders).includes('token-of') }));
      socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
      socket.on('close', resolve);
    });
  });
  const client = new WebSocket(`${api.url.replace('http', 'ws')}${app.at}/ws?viv_token=${app.token}&room=1`);
  const first = JSON.parse(String((await once(client, 'message'))[0]));
  assert.deepEqual(first, { url: '/ws?room=1', leaked: false });
  const large = Buffer.alloc(3_000_000, 'q');
  client.send(large);
  assert.ok(large.equals((await once(client, 'message'))[0] as Buffer));
  client.terminate();
  await ended;
  sockets.close();
});

test('a WebSocket that the program refuses is an ordinary answer, and the connection is not left open into the sandbox', async () => {
  await using api = await served();
  await using app = await inside(api, echo);
  app.server.on('upgrade', (_req, socket) => socket.end('HTTP/1.1 403 No\r\ncontent-length: 2\r\n\r\nno'));
  const socket = connect(api.port, '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.write(
    `GET ${app.at}/ws HTTP/1.1\r\nhost: a\r\nx-viv-token: ${app.token}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`,
  );
  await once(socket, 'end');
  assert.match(text, /^HTTP\/1\.1 403 No\r\n/);
  assert.match(text, /connection: close/i);
  const refused = new WebSocket(`${api.url.replace('http', 'ws')}${app.at}/ws`);
  const [, res] = (await once(refused, 'unexpected-response')) as [unknown, IncomingMessage];
  assert.equal(res.statusCode, 401);
});
