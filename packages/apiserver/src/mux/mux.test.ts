import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { MuxClient } from '../testing/mux-client.ts';
import { served } from '../testing/served.ts';

const MIB = 1_048_576;

async function connected(options: Parameters<typeof served>[0] = {}) {
  const api = await served(options);
  const { id } = await api.create();
  const client = await new MuxClient(api.url, api.secret).ready();
  const close = async () => {
    await client[Symbol.asyncDispose]();
    await api.close();
  };
  return { api, id, client, [Symbol.asyncDispose]: close };
}

test('a command streams its output, then eof, then its exit, then its channel closes', async () => {
  await using t = await connected();
  t.client.open(1, { op: 'exec.start', sandbox: t.id, exec: { argv: ['echo', 'hi'] } });
  await t.client.next('closed', 1);
  assert.equal(t.client.bytes(1).toString(), 'hi\n');
  const kinds = t.client.messages.map((message) => (message.t === 'event' ? message.event.type : message.t));
  assert.deepEqual(kinds, ['opened', 'eof', 'eof', 'exit', 'closed']);
});

test('stdin goes in, with credit for more as it is taken, and eof ends it', async () => {
  await using t = await connected();
  t.client.open(1, { op: 'exec.start', sandbox: t.id, exec: { argv: ['cat'] }, stdinStream: true });
  const chunk = Buffer.alloc(262_144, 'x');
  let limit = MIB;
  for (let sent = 0; sent < 8 * MIB; sent += chunk.length) {
    if (sent + chunk.length > limit)
      limit = (await t.client.next('window', 1, (message) => message.limit >= sent + chunk.length)).limit;
    t.client.write(1, 0, chunk);
  }
  t.client.send({ t: 'eof', ch: 1, sub: 0 });
  await t.client.event(1, 'exit');
  assert.equal(t.client.count(1), 8 * MIB);
});

test('a reader that gives no credit gets 1 MiB and the command waits', async () => {
  await using t = await connected();
  t.client.credit = false;
  t.client.open(1, { op: 'exec.start', sandbox: t.id, exec: { argv: ['flood', String(64 * MIB)] } });
  await t.client.until(() => t.client.count(1) === MIB);
  // Another channel of the same connection is not held up by it.
  t.client.open(3, { op: 'exec.start', sandbox: t.id, exec: { argv: ['echo', 'hi'] } });
  await t.client.next('closed', 3);
  assert.equal(t.client.count(1), MIB);
  assert.ok(t.api.edge.execs.produced <= MIB + 131_072, `${t.api.edge.execs.produced} bytes were taken from the edge`);
  t.client.send({ t: 'window', ch: 1, sub: 1, limit: 2 * MIB });
  await t.client.until(() => t.client.count(1) === 2 * MIB);
});

test('a client that stops reading its connection makes every command wait, in bounded memory', async () => {
  await using t = await connected();
  t.client.credit = false;
  for (let ch = 1; ch < 200; ch += 2) {
    t.client.open(ch, { op: 'exec.start', sandbox: t.id, exec: { argv: ['flood', String(64 * MIB)] } });
  }
  await t.client.next('opened', 199);
  t.client.ws.pause();
  for (let ch = 1; ch < 200; ch += 2) t.client.send({ t: 'window', ch, sub: 1, limit: 64 * MIB });
  let before = -1;
  while (before !== t.api.edge.execs.produced) {
    before = t.api.edge.execs.produced;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  // What each of the 100 had credit for at first, what the kernel's buffers took, the outbox, and one chunk in hand each.
  assert.ok(before < 100 * MIB + 40 * MIB, `${before} bytes were taken from the edge`);
});

test('a fast reader gets all of a large output, in order', async () => {
  await using t = await connected();
  t.client.open(1, { op: 'exec.start', sandbox: t.id, exec: { argv: ['flood', String(96 * MIB)] } });
  await t.client.event(1, 'exit');
  assert.equal(t.client.count(1), 96 * MIB);
});

test('an attach starts where the client says, counts its credit from zero, and tells gaps', async () => {
  await using t = await connected();
  t.client.open(1, { op: 'exec.start', sandbox: t.id, exec: { argv: ['flood', String(4 * MIB)] } });
  const { exec } = (await t.client.event(1, 'exit')).event as unknown as { exec: { id: string } };
  t.client.open(3, { op: 'exec.attach', sandbox: t.id, exec: exec.id, stdoutOffset: 3 * MIB });
  await t.client.event(3, 'exit');
  assert.equal(t.client.count(3), MIB);
  t.client.open(5, { op: 'exec.start', sandbox: t.id, exec: { argv: ['gap'] } });
  assert.deepEqual((await t.client.event(5, 'gap')).event, { type: 'gap', sub: 1, from: 0, to: 10 });
});

test('closing a channel leaves the command running; signal and resize reach it', async () => {
  await using t = await connected();
  t.client.open(1, { op: 'exec.start', sandbox: t.id, exec: { argv: ['sleep'], pty: { rows: 24, cols: 80 } } });
  const { result } = await t.client.next('opened', 1);
  t.client.send({ t: 'close', ch: 1 });
  await t.client.next('closed', 1);
  assert.equal(t.api.edge.execs.streams, 0);
  const { id } = result as { id: string };
  assert.equal(t.api.edge.execs.rows.get(id)!.state, 'running');
  t.client.open(3, { op: 'exec.attach', sandbox: t.id, exec: id });
  await t.client.next('opened', 3);
  t.client.send({ t: 'resize', ch: 3, size: { rows: 50, cols: 132 } });
  t.client.send({ t: 'signal', ch: 3, signal: 'nonsense!', scope: 'process' });
  assert.equal(((await t.client.event(3, 'error')).event.error as { code: string }).code, 'invalid_argument');
  t.client.send({ t: 'signal', ch: 3, signal: 'INT', scope: 'group' });
  const { event } = await t.client.event(3, 'exit');
  assert.deepEqual((event.exec as { outcome: object }).outcome, { type: 'signaled', signal: 15 });
  assert.deepEqual(t.api.edge.execs.sizes, [{ rows: 50, cols: 132 }]);
  assert.deepEqual(t.api.edge.execs.signals, [{ signal: 'INT', scope: 'group' }]);
});

test('when a client vanishes its commands run on, its leases are released and its watches end', async () => {
  await using t = await connected();
  const { edge } = t.api;
  // The server follows events itself.
  const ours = edge.sandboxes.subscribers.size;
  const watches = () => edge.files.watching + edge.sandboxes.subscribers.size - ours;
  const lease = edge.leases.create({ graceS: 5, onExpire: 'kill' }, { keyId: 'k', maxSandboxes: null });
  t.client.open(1, { op: 'exec.start', sandbox: t.id, exec: { argv: ['sleep'] } });
  t.client.open(3, { op: 'lease.hold', lease: lease.id });
  t.client.open(5, { op: 'file.watch', sandbox: t.id, path: '/w' });
  t.client.open(7, { op: 'events' });
  await Promise.all([1, 3, 5, 7].map((ch) => t.client.next('opened', ch)));
  assert.deepEqual([edge.leases.holders, watches()], [1, 2]);
  t.client.ws.terminate();
  while (edge.leases.holders + watches() + edge.execs.streams > 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal([...edge.execs.rows.values()][0]!.state, 'running');
});

test('watch, logs and lifecycle come as events', async () => {
  await using t = await connected();
  t.client.open(1, { op: 'file.watch', sandbox: t.id, path: '/w' });
  assert.deepEqual((await t.client.next('event', 1)).event, { kind: 'create', path: '/w/new', isDir: false });
  t.client.open(3, { op: 'logs.follow', sandbox: t.id, after: 22 });
  await t.client.next('closed', 3);
  assert.deepEqual(
    t.client.messages.flatMap((message) => (message.t === 'event' && message.ch === 3 ? [message.event.seq] : [])),
    [23, 24],
  );
  t.client.open(5, { op: 'events', sandbox: t.id });
  await t.client.next('opened', 5);
  await t.api.call('DELETE', `/v1/sandboxes/${t.id}`);
  assert.equal(((await t.client.event(5, 'sandbox')).event.sandbox as { state: string }).state, 'ended');
});

test('a sandbox can be created on the connection, once per idempotency key, also together with HTTP', async () => {
  await using t = await connected();
  const create = { image: 'base/debian@12', labels: { a: 'b' } };
  t.client.open(1, { op: 'sandbox.create', create, idempotencyKey: 'k1' });
  const first = (await t.client.next('opened', 1)).result as { id: string; token: string };
  assert.equal(first.token, `token-of-${first.id}`);
  await t.client.next('closed', 1);
  assert.equal((await t.api.call('POST', '/v1/sandboxes', create, { 'idempotency-key': 'k1' })).json.id, first.id);
});

test('a port connection carries bytes both ways and ends direction by direction', async () => {
  await using t = await connected();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('end', () => socket.end('bye'));
    socket.on('data', (chunk) => socket.write(chunk));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.api.edge.ports.redirect.set(9000, (server.address() as { port: number }).port);
  t.client.open(1, { op: 'port.connect', sandbox: t.id, port: 9000 });
  t.client.write(1, 0, Buffer.from('early '));
  await t.client.next('opened', 1);
  for (let i = 0; i < 3; i++) t.client.write(1, 0, Buffer.alloc(262_144, 'z'));
  await t.client.until(() => t.client.count(1) === 6 + 3 * 262_144);
  t.client.send({ t: 'eof', ch: 1, sub: 0 });
  await t.client.next('closed', 1);
  assert.ok(t.client.bytes(1).toString().endsWith('zbye'));
  server.close();
});

test('a port on which nothing listens closes its channel with port_closed', async () => {
  await using t = await connected();
  t.client.open(1, { op: 'port.connect', sandbox: t.id, port: 1 });
  assert.equal(((await t.client.next('closed', 1)).error as { error: { code: string } }).error.code, 'port_closed');
});

test('connections to a listener inside come out on channels of the server', async () => {
  await using t = await connected();
  const server = createServer((socket) => socket.end('from inside')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.api.edge.ports.redirect.set(1, (server.address() as { port: number }).port);
  t.api.edge.ports.incoming = [await t.api.edge.ports.connect(t.id, { port: 1 })];
  t.client.open(1, { op: 'port.listen', sandbox: t.id, port: 8123 });
  assert.equal((await t.client.event(1, 'listening')).event.port, 8123);
  const conn = (await t.client.event(1, 'connection')).event.conn as number;
  assert.equal(conn % 2, 0);
  await t.client.next('eof', conn);
  t.client.send({ t: 'eof', ch: conn, sub: 0 });
  await t.client.next('closed', conn);
  assert.equal(t.client.bytes(conn).toString(), 'from inside');
  server.close();
});

test('a request that makes no sense ends its channel only, with an error that names the field', async () => {
  await using t = await connected();
  const error = async (ch: number, req: object) => {
    t.client.open(ch, req as never);
    return ((await t.client.next('closed', ch)).error as { error: { code: string; message: string } }).error;
  };
  assert.match(
    (await error(1, { op: 'exec.start', sandbox: t.id, exec: { argv: ['a'], cwdd: '/' } })).message,
    /"cwdd" in exec; did you mean "cwd"/,
  );
  assert.equal((await error(3, { op: 'exec.begin' })).code, 'invalid_argument');
  assert.equal(
    (await error(5, { op: 'exec.start', sandbox: 'abcdefghij0123456789', exec: { argv: ['a'] } })).code,
    'sandbox_not_found',
  );
  assert.equal((await error(7, { op: 'port.connect', sandbox: t.id })).code, 'invalid_argument');
  assert.equal((await error(9, { op: 'lease.hold', lease: 'abcdefghij0123456789' })).code, 'lease_not_found');
  assert.equal((await error(11, { op: 'logs.follow', sandbox: 'abcdefghij0123456789' })).code, 'sandbox_not_found');
  t.client.ws.send('{"t":"ping"}');
  await t.client.until(() => t.client.messages.some((message) => message.t === 'pong'));
});
