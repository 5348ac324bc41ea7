import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { WebSocket } from 'ws';
import { MuxClient } from '../testing/mux-client.ts';
import { served } from '../testing/served.ts';

const MIB = 1_048_576;

test('breaking the rules of the connection ends it with 1008 and a reason', async (t) => {
  await using api = await served();
  const { id } = await api.create();
  const cases: [string, RegExp, (client: MuxClient) => void][] = [
    ['text that is no JSON', /one JSON object/, (client) => client.ws.send('hello')],
    ['an unknown message', /not a message/, (client) => client.ws.send('{"t":"shout"}')],
    ['an even channel', /odd channels/, (client) => client.open(2, { op: 'events' })],
    ['a channel twice', /open already/, (client) => [1, 1].map((ch) => client.open(ch, { op: 'events' }))],
    ['data on a channel that never was', /never opened/, (client) => client.write(9, 0, Buffer.from('x'))],
    ['control on a channel that never was', /never opened/, (client) => client.send({ t: 'eof', ch: 9, sub: 0 })],
    ['an empty data message', /1 to 262144/, (client) => client.ws.send(Buffer.alloc(8))],
    ['a data message that is too large', /1 to 262144/, (client) => client.ws.send(Buffer.alloc(8 + 262_145))],
    ['a header with rubbish in it', /zero/, (client) => client.ws.send(Buffer.alloc(9, 1))],
    [
      'data where the channel takes none',
      /takes no data/,
      (client) => {
        client.open(1, { op: 'events' });
        client.write(1, 0, Buffer.from('x'));
      },
    ],
    [
      'stdin that was not asked for',
      /takes no data/,
      (client) => {
        client.open(1, { op: 'exec.start', sandbox: id, exec: { argv: ['sleep'] } });
        client.write(1, 0, Buffer.from('x'));
      },
    ],
    [
      'data after eof',
      /after eof/,
      (client) => {
        client.open(1, { op: 'exec.start', sandbox: id, exec: { argv: ['sleep'] }, stdinStream: true });
        client.send({ t: 'eof', ch: 1, sub: 0 });
        client.write(1, 0, Buffer.from('x'));
      },
    ],
    [
      'more data than there was credit for',
      /credit/,
      (client) => {
        client.open(1, { op: 'exec.start', sandbox: id, exec: { argv: ['sleep'] }, stdinStream: true });
        for (let i = 0; i < 5; i++) client.write(1, 0, Buffer.alloc(262_144));
      },
    ],
  ];
  for (const [name, reason, act] of cases) {
    await t.test(name, async () => {
      const client = await new MuxClient(api.url, api.secret).ready();
      act(client);
      const end = await client.end();
      assert.equal(end.code, 1008);
      assert.match(end.reason, reason);
    });
  }
  assert.equal((await api.call('GET', '/v1/node')).status, 200);
});

test('a hundred thousand tiny pieces of input are gathered, not queued one by one', async () => {
  await using api = await served();
  const { id } = await api.create();
  await using client = await new MuxClient(api.url, api.secret).ready();
  client.open(1, { op: 'exec.start', sandbox: id, exec: { argv: ['sleep'] }, stdinStream: true });
  await client.next('opened', 1);
  for (let i = 0; i < 100_000; i++) client.write(1, 0, Buffer.from([i & 0xff]));
  client.send({ t: 'ping' });
  await client.until(() => client.messages.some((message) => message.t === 'pong'));
  assert.equal(client.closed, undefined);
});

test('tiny pieces come out in order and whole', async () => {
  await using api = await served();
  const { id } = await api.create();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 9_000 }), { minLength: 1, maxLength: 60 }),
      async (pieces) => {
        await using client = await new MuxClient(api.url, api.secret).ready();
        client.open(1, { op: 'exec.start', sandbox: id, exec: { argv: ['cat'] }, stdinStream: true });
        for (const piece of pieces) client.write(1, 0, piece);
        client.send({ t: 'eof', ch: 1, sub: 0 });
        await client.event(1, 'exit');
        assert.deepEqual(client.bytes(1), Buffer.concat(pieces));
      },
    ),
    { numRuns: 15 },
  );
});

test('random text and random bytes never harm the server', async () => {
  await using api = await served();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.string(), fc.json(), fc.uint8Array({ maxLength: 64 })), { maxLength: 20 }),
      async (messages) => {
        const client = await new MuxClient(api.url, api.secret).ready();
        for (const message of messages) client.ws.send(message, () => {});
        client.ws.close();
        await client.end();
      },
    ),
    { numRuns: 40 },
  );
  assert.deepEqual(api.log, []);
  assert.equal((await api.call('GET', '/v1/node')).status, 200);
});

test('a message above 2 MiB ends the connection', async () => {
  await using api = await served();
  const client = await new MuxClient(api.url, api.secret).ready();
  client.ws.send('x'.repeat(2 * MIB + 1));
  assert.equal((await client.end()).code, 1009);
});

test('a WebSocket without a key, with a wrong one, without the scope or the subprotocol is refused as HTTP', async () => {
  await using api = await served();
  const refused = (secret: string, protocols: string[]) =>
    new Promise<string>((resolve) => {
      const ws = new WebSocket(`${api.url.replace('http', 'ws')}/v1/connect`, protocols, {
        headers: secret === '' ? {} : { authorization: `Bearer ${secret}` },
      });
      ws.on('open', () => resolve(`open ${ws.protocol}`));
      ws.on('error', () => {});
      ws.on('unexpected-response', (_req, res) => {
        let text = '';
        res.on('data', (chunk) => {
          text += chunk;
        });
        res.on('end', () => resolve(`${res.statusCode} ${JSON.parse(text).error.code}`));
      });
    });
  const images = api.keys.create({ name: 'i', scopes: ['images'] }).secret!;
  assert.equal(await refused('', ['vivarium.v1']), '401 unauthenticated');
  assert.equal(await refused(`viv_${'0'.repeat(40)}`, ['vivarium.v1']), '401 unauthenticated');
  assert.equal(await refused(images, ['vivarium.v1']), '403 forbidden');
  assert.equal(await refused(api.secret, ['other']), '400 invalid_argument');
  assert.equal(
    await refused('', ['vivarium.v1', `viv-key.${api.secret}`]),
    'open vivarium.v1',
    'browsers carry the key as a subprotocol',
  );
});

test('a thousand idle connections are held, and the work of others goes on', async () => {
  await using api = await served();
  const clients = await Promise.all(Array.from({ length: 1_000 }, () => new MuxClient(api.url, api.secret).ready()));
  const { text } = await api.call('GET', '/metrics');
  assert.match(text, /viv_mux_connections 1000/);
  const { id } = await api.create();
  clients[500]!.open(1, { op: 'exec.start', sandbox: id, exec: { argv: ['echo', 'hi'] } });
  await clients[500]!.next('closed', 1);
  for (const client of clients) client.ws.terminate();
});

test('a client that no longer answers is dropped, one that does is kept', async () => {
  await using api = await served({ pingMs: 50 });
  const dead = await new MuxClient(api.url, api.secret).ready();
  const alive = await new MuxClient(api.url, api.secret).ready();
  dead.ws.pause();
  const gone = new Promise<void>((resolve) => {
    const timer = setInterval(async () => {
      const { text } = await api.call('GET', '/metrics');
      if (!/viv_mux_connections 1/.test(text)) return;
      clearInterval(timer);
      resolve();
    }, 20);
  });
  await gone;
  assert.equal(alive.closed, undefined);
  alive.ws.terminate();
  dead.ws.terminate();
});
