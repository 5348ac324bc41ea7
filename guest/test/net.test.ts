import assert from 'node:assert/strict';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { pour } from './files.ts';
import { Guest, type Link, until } from './guest.ts';
import { parseTlv, T, type TlvItem, tlv } from './wire.ts';

const ECONNREFUSED = 111;
const EADDRINUSE = 98;
const TCP: TlvItem = [1, 1];
const UNIX: TlvItem = [1, 2];

let guest: Guest;
let link: Link;

before(async () => {
  guest = new Guest();
  link = await guest.open();
});
after(() => guest.close());

async function dial(items: TlvItem[]): Promise<number> {
  const id = link.id();
  link.send(T.CONNECT, id, tlv(items));
  await link.take(id, T.OK);
  return id;
}

async function refused(type: number, items: TlvItem[]): Promise<[number, number]> {
  const id = link.id();
  link.send(type, id, tlv(items));
  const { errno, stage } = await link.takeFail(id);
  return [errno, stage];
}

async function listen(items: TlvItem[]): Promise<{ id: number; port: number }> {
  const id = link.id();
  link.send(T.LISTEN, id, tlv(items));
  const ok = parseTlv((await link.take(id, T.OK)).payload);
  return { id, port: ok.get(1)?.readUInt32LE(0) ?? 0 };
}

async function opened(listener: number): Promise<number> {
  const frame = await link.takeWhere((f) => f.type === T.OPENED && f.payload.readUInt32LE(0) === listener, 'OPENED');
  assert.equal(frame.stream % 2, 0);
  return frame.stream;
}

/** A server that sends back what it got, after its end. */
async function echoServer(host: string): Promise<{ server: Server; port: number }> {
  const server = createServer({ allowHalfOpen: true }, (socket: Socket) => {
    const parts: Buffer[] = [];
    socket.on('data', (bytes) => parts.push(bytes));
    socket.on('end', () => socket.end(Buffer.concat(parts)));
    socket.on('error', () => {});
  });
  await new Promise<void>((done) => server.listen(0, host, done));
  const address = server.address();
  assert.ok(address && typeof address === 'object');
  return { server, port: address.port };
}

test('a TCP connection carries megabytes both ways and ends each way by itself', async () => {
  const { server, port } = await echoServer('127.0.0.1');
  const id = await dial([TCP, [3, port]]);
  const bytes = Buffer.alloc(3_000_000, 'abc123');
  const [back] = await Promise.all([link.collect(id, 1), pour(link, id, bytes)]);
  assert.ok(back.equals(bytes));
  server.close();
});

test('localhost is 127.0.0.1 first and then ::1', async () => {
  const { server, port } = await echoServer('::1');
  const id = await dial([TCP, [2, 'localhost'], [3, port]]);
  link.data(id, 0, 'six');
  link.eof(id, 3);
  assert.equal(String(await link.collect(id, 1)), 'six');
  server.close();
});

test('a connection that is refused says so', async () => {
  assert.deepEqual(await refused(T.CONNECT, [TCP, [3, 1]]), [ECONNREFUSED, 11]);
  assert.deepEqual(await refused(T.CONNECT, [UNIX, [4, `${guest.dir}/none`]]), [2, 11]);
  assert.deepEqual(await refused(T.CONNECT, [TCP, [2, 'example.com'], [3, 80]]), [22, 11]);
  for (const bad of [
    [TCP],
    [TCP, [3, 70_000]],
    [UNIX],
    [
      [1, 3],
      [3, 80],
    ],
    [TCP, [3, 0]],
  ] as TlvItem[][])
    assert.deepEqual(await refused(T.CONNECT, bad), [22, 1]);
});

test('a reset connection fails its stream', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.resetAndDestroy()));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const address = server.address();
  assert.ok(address && typeof address === 'object');
  const id = await dial([TCP, [3, address.port]]);
  link.data(id, 0, 'x');
  assert.equal((await link.takeFail(id)).errno, 104);
  server.close();
});

test('connections to a listener come out as streams, half-close included', async () => {
  const { id, port } = await listen([TCP, [3, 0]]);
  assert.ok(port > 0);
  const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  client.write('question');
  client.end();
  const stream = await opened(id);
  assert.equal(String(await link.collect(stream, 1)), 'question');
  link.data(stream, 0, 'answer');
  link.eof(stream, 6);
  const answer = await new Promise<string>((done) => {
    let text = '';
    client.on('data', (bytes) => {
      text += bytes;
    });
    client.on('end', () => done(text));
  });
  assert.equal(answer, 'answer');
  assert.deepEqual(await refused(T.LISTEN, [TCP, [3, port]]), [EADDRINUSE, 12]);
  link.send(T.RELEASE, id);
  await link.ping();
  assert.deepEqual(await refused(T.CONNECT, [TCP, [3, port]]), [ECONNREFUSED, 11]);
});

test('unix sockets work both ways, with the mode asked for, and a dead one is replaced', async () => {
  const path = `${guest.dir}/socket`;
  for (let round = 0; round < 20; round++) {
    const { id } = await listen([UNIX, [4, path], [5, 0o640]]);
    assert.equal(statSync(path).mode & 0o777, 0o640);
    const out = await dial([UNIX, [4, path]]);
    const inside = await opened(id);
    link.data(out, 0, 'there');
    link.data(inside, 0, 'back');
    link.eof(out, 5);
    link.eof(inside, 4);
    assert.equal(String(await link.collect(inside, 1)), 'there');
    assert.equal(String(await link.collect(out, 1)), 'back');
    assert.deepEqual(await refused(T.LISTEN, [UNIX, [4, path]]), [EADDRINUSE, 12]);
    link.send(T.RELEASE, id);
    assert.ok(existsSync(path));
  }
  writeFileSync(`${guest.dir}/plain`, 'stays');
  assert.deepEqual(await refused(T.LISTEN, [UNIX, [4, `${guest.dir}/plain`]]), [EADDRINUSE, 12]);
});

test('a listener takes no more connections at a time than it was told', async () => {
  const { id, port } = await listen([TCP, [3, 0], [9, 2]]);
  const clients = [0, 1, 2].map(() => connect(port, '127.0.0.1'));
  const first = await opened(id);
  await opened(id);
  await link.ping();
  assert.ok(!link.frames.some((f) => f.type === T.OPENED));
  link.send(T.CANCEL, first);
  await opened(id);
  for (const client of clients) client.destroy();
  link.send(T.RELEASE, id);
});

test('a slow host makes the sender wait', async () => {
  const { id, port } = await listen([TCP, [3, 0], [7, 1000]]);
  const client = connect(port, '127.0.0.1');
  client.write(Buffer.alloc(100_000));
  const stream = await opened(id);
  const data = await link.take(stream, T.DATA);
  await link.ping();
  assert.equal(data.payload.length - 8, 1000);
  assert.ok(!link.frames.some((f) => f.stream === stream && f.type === T.DATA));
  client.destroy();
  link.send(T.CANCEL, stream);
  link.send(T.RELEASE, id);
});

test('connections leave no descriptor', async () => {
  const { server, port } = await echoServer('127.0.0.1');
  const before = guest.openDescriptors();
  for (let i = 0; i < 200; i++) {
    const id = await dial([TCP, [3, port]]);
    link.data(id, 0, 'x');
    if (i % 2) link.send(T.CANCEL, id);
    else {
      link.eof(id, 1);
      await link.collect(id, 1);
    }
  }
  await until(() => guest.openDescriptors() <= before, 'all are closed');
  server.close();
});

test('the process list names what runs', async () => {
  const { id: sleeper, pid } = await link.spawn(['sleep', '31.5']);
  await link.take(sleeper, T.OK);
  const id = link.id();
  link.send(T.PROCS, id);
  const bytes = await link.collect(id, 1);
  await link.take(id, T.OK);
  let found = '';
  for (let at = 0; at < bytes.length; at += bytes.readUInt32LE(at)) {
    const [comm, argv] = [bytes.readUInt16LE(at + 18), bytes.readUInt32LE(at + 20)];
    assert.equal(bytes.readUInt32LE(at), 56 + comm + argv);
    if (bytes.readUInt32LE(at + 4) === pid) found = bytes.subarray(at + 56, at + 56 + comm + argv).toString();
  }
  assert.equal(found, 'sleepsleep\0' + '31.5\0');
  link.send(T.KILLTREE, sleeper);
  await link.exit(sleeper);
  link.send(T.RELEASE, sleeper);
});

test('a peer that is gone both ways ends the stream, and no writer waits for credit', async () => {
  const { id, port } = await listen([TCP, [3, 0]]);
  const client = connect({ port, host: '127.0.0.1' });
  const stream = await opened(id);
  client.end();
  await link.take(stream, T.EOF);
  client.destroy();
  link.data(stream, 0, 'into the void');
  link.data(stream, 13, 'and again');
  const last = await link.takeWhere(
    (f) =>
      f.stream === stream &&
      (f.type === T.FAIL || (f.type === T.WINDOW && f.payload.readBigUInt64LE(8) === 2n ** 64n - 1n)),
    'unlimited credit or the reset',
  );
  assert.ok(last);
  link.send(T.RELEASE, id);
});
