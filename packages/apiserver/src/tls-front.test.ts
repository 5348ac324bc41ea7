import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { after, test } from 'node:test';
import { connect } from 'node:tls';
import { WebSocket } from 'ws';
import { LocalCa } from './testing/local-ca.ts';
import { served } from './testing/served.ts';

const ca = new LocalCa('viv.test');
after(() => ca.remove());
const trusted = readFileSync(ca.ca, 'utf8');

/** Status and body by HTTPS; the name is not looked up. */
function get(
  port: number,
  name: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      port,
      path,
      headers: { host: name, ...headers },
      servername: name,
      ca: trusted,
    };
    request(options, (res) => {
      let text = '';
      res.on('data', (chunk) => (text += chunk)).on('end', () => resolve([res.statusCode!, text]));
    })
      .on('error', reject)
      .end();
  });
}

test('one address speaks HTTP and HTTPS, the first byte tells them apart', async () => {
  await using api = await served({ tls: ca.files(), domain: 'viv.test' });
  assert.equal(api.tlsPort, api.port);
  assert.equal((await fetch(`${api.url}/healthz`)).status, 200);
  assert.equal((await get(api.port, 'api.viv.test', '/healthz'))[0], 200);
  const answers = Array.from({ length: 20 }, (_, i) =>
    i % 2
      ? get(api.port, 'viv.test', '/healthz').then(([status]) => status)
      : fetch(`${api.url}/healthz`).then((r) => r.status),
  );
  assert.deepEqual(new Set(await Promise.all(answers)), new Set([200]));
});

test('an address of its own for HTTPS leaves the other one plain', async () => {
  await using api = await served({ tls: { ...ca.files(), listen: { host: '127.0.0.1', port: 0 } } });
  assert.notEqual(api.tlsPort, api.port);
  assert.equal((await get(api.tlsPort!, 'viv.test', '/healthz'))[0], 200);
  assert.equal((await fetch(`${api.url}/healthz`)).status, 200);
  await assert.rejects(get(api.port, 'viv.test', '/healthz'));
});

test('HTTP/1.1 is agreed on with a client that would speak HTTP/2', async () => {
  await using api = await served({ tls: ca.files() });
  const socket = connect({
    port: api.port,
    host: '127.0.0.1',
    servername: 'viv.test',
    ca: trusted,
    ALPNProtocols: ['h2', 'http/1.1'],
  });
  await once(socket, 'secureConnect');
  assert.equal(socket.alpnProtocol, 'http/1.1');
  socket.destroy();
});

test('a WebSocket is upgraded inside an encrypted connection', async () => {
  await using api = await served({ tls: ca.files() });
  const socket = new WebSocket(`wss://127.0.0.1:${api.port}/v1/connect`, 'vivarium.v1', {
    rejectUnauthorized: false,
    headers: { authorization: `Bearer ${api.secret}` },
  });
  await once(socket, 'open');
  socket.close();
});

test('a new certificate is for new connections; one that is none changes nothing', async () => {
  await using api = await served({ tls: ca.files() });
  await assert.rejects(get(api.port, 'new.test', '/healthz'), /altnames|does not match/i);
  assert.throws(() => api.renewTls({ cert: 'no', key: 'no' }), /the certificate and its key can't be used/);
  assert.equal((await get(api.port, 'viv.test', '/healthz'))[0], 200);
  ca.sign('new.test');
  api.renewTls(ca.files());
  assert.equal((await get(api.port, 'new.test', '/healthz'))[0], 200);
  ca.sign('viv.test');
});

test('a certificate that is none stops the start with its reason', async () => {
  await assert.rejects(
    served({ tls: { cert: 'nothing', key: 'nothing' } }),
    /the certificate and its key can't be used/,
  );
});

test('connections that say nothing are cut, garbage hurts nobody', async () => {
  await using api = await served({ tls: ca.files(), headersTimeoutMs: 300 });
  const silent = connectTcp(api.port, '127.0.0.1');
  const garbage = connectTcp(api.port, '127.0.0.1', () =>
    garbage.write(Buffer.from([0x16, 3, 1, 255, 255, 0, 0, 0, 1, 2, 3])),
  );
  garbage.on('error', () => {});
  for (const socket of [silent, garbage]) socket.resume();
  await Promise.all([once(silent, 'close'), once(garbage, 'close')]);
  assert.equal((await get(api.port, 'viv.test', '/healthz'))[0], 200);
});

test('a client that leaves before its first byte is not waited for', async () => {
  await using api = await served({ tls: ca.files(), headersTimeoutMs: 600_000 });
  const socket = connectTcp(api.port, '127.0.0.1');
  // It says that it will send nothing, and closes when the server does.
  socket.end();
  await once(socket.resume(), 'close');
});
