import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { LocalCa } from '../testing/local-ca.ts';
import { served } from '../testing/served.ts';

const ca = new LocalCa('inside.test');
after(() => ca.remove());

const echo = (req: IncomingMessage, res: ServerResponse) =>
  res.end(JSON.stringify({ url: req.url, headers: req.headers }));

/** A node with a sandbox in which a program listens on ports 8000 and 8443. */
async function serving(body: object = {}, tls = false) {
  const inside = tls ? createTlsServer(ca.files(), echo) : createServer(echo);
  await once(inside.listen(0, '127.0.0.1'), 'listening');
  const { port } = inside.address() as AddressInfo;
  const api = await served({ domain: 'viv.test' });
  for (const one of [8000, 8443]) api.edge.ports.redirect.set(one, port);
  const headers = { 'x-api-key': api.secret };
  const made = await fetch(`${api.url}/v2/sandboxes`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ templateID: 'base/debian@12', ...body }),
  });
  const sandbox = (await made.json()) as { sandboxID: string; trafficAccessToken?: string; envdAccessToken: string };
  const get = (headers: Record<string, string>, path = '/a?b=c') =>
    new Promise<{ status: number; type: string | undefined; text: string }>((resolve, reject) => {
      request({ host: '127.0.0.1', port: api.port, path, headers }, (res) => {
        let text = '';
        res.on('data', (chunk) => (text += chunk));
        res.on('end', () => resolve({ status: res.statusCode!, type: res.headers['content-type'], text }));
      })
        .on('error', reject)
        .end();
    });
  const byHeader = (port: number, more = {}, id = sandbox.sandboxID) =>
    get({ 'e2b-sandbox-id': id, 'e2b-sandbox-port': String(port), ...more });
  const byHost = (port: number, more = {}, id = sandbox.sandboxID) => get({ host: `${port}-${id}.viv.test`, ...more });
  const close = async () => {
    inside.closeAllConnections();
    inside.close();
    await api.close();
  };
  return { api, inside, ...sandbox, byHeader, byHost, [Symbol.asyncDispose]: close };
}

test('ports are public by header and by host name, and the program inside sees no secret of ours', async () => {
  await using at = await serving();
  const secrets = {
    'x-access-token': at.envdAccessToken,
    'x-api-key': at.api.secret,
    authorization: `Bearer e2b_${'0'.repeat(40)}`,
  };
  for (const answer of [
    await at.byHeader(8000, { ...secrets, 'x-own': 'yes' }),
    await at.byHost(8000, { ...secrets, 'x-own': 'yes' }),
  ]) {
    assert.equal(answer.status, 200);
    const { url, headers } = JSON.parse(answer.text);
    assert.equal(url, '/a?b=c');
    assert.equal(headers['x-own'], 'yes');
    for (const name of Object.keys(secrets)) assert.equal(headers[name], undefined, name);
  }
  assert.equal(
    JSON.parse((await at.byHeader(8000, { 'x-access-token': 'its own' })).text).headers['x-access-token'],
    'its own',
  );
});

test('a closed port, a dead sandbox and an unknown one are 502 with their code, and pages for people', async () => {
  await using at = await serving();
  const id = at.sandboxID;
  assert.deepEqual(JSON.parse((await at.byHost(3000)).text), {
    sandboxId: id,
    message: 'The sandbox is running but port is not open',
    port: 3000,
    code: 502,
  });
  const page = await at.byHost(3000, { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64)' });
  assert.equal(page.status, 502);
  assert.equal(page.type, 'text/html; charset=utf-8');
  assert.match(page.text, /<title>Closed Port Error<\/title>/);
  await at.api.edge.sandboxes.kill(id);
  for (const gone of [id, 'abcdefghij0123456789']) {
    for (const answer of [
      await at.byHost(8000, {}, gone),
      await at.byHeader(8000, {}, gone),
      await at.byHeader(49_983, {}, gone),
    ]) {
      assert.equal(answer.status, 502);
      assert.deepEqual(JSON.parse(answer.text), { sandboxId: gone, message: 'The sandbox was not found', code: 502 });
    }
  }
});

test('ports that are not public need the traffic token', async () => {
  await using at = await serving({ network: { allowPublicTraffic: false } });
  const header = 'e2b-traffic-access-token';
  assert.equal((await at.byHost(8000)).status, 403);
  assert.deepEqual(JSON.parse((await at.byHeader(8000, { [header]: at.envdAccessToken })).text).code, 403);
  const { status, text } = await at.byHost(8000, { [header]: at.trafficAccessToken! });
  assert.equal(status, 200);
  assert.equal(JSON.parse(text).headers[header], undefined);
});

test('ports of a native sandbox need its token, whichever way they are asked', async () => {
  await using at = await serving();
  const native = await at.api.create();
  assert.equal((await at.byHost(8000, {}, native.id)).status, 401);
  assert.equal((await at.byHeader(8000, {}, native.id)).status, 401);
  assert.equal((await at.byHeader(8000, { 'x-viv-token': native.token }, native.id)).status, 200);
});

test('the program inside sees the host that it was masked with', async () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: that is how clients write it
  await using at = await serving({ network: { maskRequestHost: 'localhost:${PORT}' } });
  assert.equal(JSON.parse((await at.byHost(8000)).text).headers.host, 'localhost:8000');
});

test('a program that speaks TLS is reached at the ports that were named', async () => {
  await using at = await serving({ network: { httpsPorts: [8443] } }, true);
  assert.equal((await at.byHost(8443)).status, 200);
  assert.equal((await at.byHost(8000)).status, 502);
});

test('a program that does not speak TLS where it should is a closed port', async () => {
  await using at = await serving({ network: { httpsPorts: [8443] } });
  assert.equal(JSON.parse((await at.byHost(8443)).text).code, 502);
});

test('WebSockets pass by header and by host name', async () => {
  await using at = await serving();
  const sockets = new WebSocketServer({ server: at.inside as ReturnType<typeof createServer> });
  sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(`re: ${data}`)));
  const ways: Record<string, string>[] = [
    { 'e2b-sandbox-id': at.sandboxID, 'e2b-sandbox-port': '8000' },
    { host: `8000-${at.sandboxID}.viv.test` },
  ];
  for (const headers of ways) {
    const socket = new WebSocket(`ws://127.0.0.1:${at.api.port}/`, { headers });
    await once(socket, 'open');
    socket.send('hi');
    assert.equal(String((await once(socket, 'message'))[0]), 're: hi');
    socket.close();
  }
  const refused = new WebSocket(`ws://127.0.0.1:${at.api.port}/`, {
    headers: { host: `3000-${at.sandboxID}.viv.test` },
  });
  const [error] = await once(refused, 'error');
  assert.match(String(error), /502/);
});

test('nobody wakes a paused sandbox who may not come in', async () => {
  await using at = await serving({
    autoPause: true,
    autoResume: { enabled: true },
    network: { allowPublicTraffic: false },
  });
  await at.api.edge.sandboxes.pause(at.sandboxID);
  assert.equal((await at.byHost(8000)).status, 403);
  assert.equal((await at.byHeader(49_983, {})).status, 401);
  const headers = { 'e2b-sandbox-id': at.sandboxID };
  assert.equal((await fetch(`${at.api.url}/health`, { headers })).status, 502);
  assert.equal(at.api.edge.sandboxes.get(at.sandboxID).state, 'paused');
  const known = { ...headers, 'x-access-token': at.envdAccessToken };
  assert.equal((await fetch(`${at.api.url}/health`, { headers: known })).status, 204);
});

test('a paused sandbox is woken by a request when it was made so, else it is not there', async () => {
  await using at = await serving({ autoPause: true, autoResume: { enabled: true } });
  await at.api.edge.sandboxes.pause(at.sandboxID);
  assert.equal((await at.byHost(8000)).status, 200);
  await using other = await serving();
  await other.api.edge.sandboxes.pause(other.sandboxID);
  assert.equal((await other.byHost(8000)).status, 502);
  assert.equal((await other.byHeader(49_983)).status, 502);
});

test('clients are disconnected when their sandbox is paused or ends: answers break off, sockets close, who waits is told', async () => {
  for (const end of ['pause', 'kill'] as const) {
    await using at = await serving();
    at.inside.removeAllListeners('request');
    at.inside.on('request', (req: IncomingMessage, res: ServerResponse) => req.url === '/begun' && res.write('some'));
    const sockets = new WebSocketServer({ server: at.inside as ReturnType<typeof createServer> });
    const headers = { 'e2b-sandbox-id': at.sandboxID, 'e2b-sandbox-port': '8000' };
    const socket = new WebSocket(`ws://127.0.0.1:${at.api.port}/`, { headers });
    await once(socket, 'open');
    const begun = await fetch(`${at.api.url}/begun`, { headers });
    const waiting = at.byHeader(8000);
    await once(at.inside, 'request');
    const closed = once(socket, 'close');
    await at.api.edge.sandboxes[end](at.sandboxID);
    await Promise.all([closed, assert.rejects(begun.text())]);
    assert.equal((await waiting).status, 502);
    sockets.close();
  }
});

test('health needs no token; a page of any origin may ask envd', async () => {
  await using at = await serving();
  const { url } = at.api;
  const headers = { 'e2b-sandbox-id': at.sandboxID, origin: 'https://a.example' };
  const health = await fetch(`${url}/health`, { headers });
  assert.equal(health.status, 204);
  assert.equal(health.headers.get('access-control-allow-origin'), '*');
  assert.equal(
    (await fetch(`${url}/nothing`, { headers: { ...headers, 'x-access-token': at.envdAccessToken } })).status,
    404,
  );
});
