import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { Vivarium } from './client.ts';
import { collect } from './page.ts';
import type { FakeChannel } from './testing/fake-channel.ts';
import { endedExec, fakeExec, fakeSandbox, SANDBOX_ID } from './testing/fake-exec.ts';
import { FakeServer } from './testing/fake-server.ts';

let server: FakeServer;
let viv: Vivarium;
before(async () => {
  server = await FakeServer.start();
});
after(async () => {
  viv.close();
  await server.close();
});
beforeEach(() => {
  viv?.close();
  server.opens.length = 0;
  server.routes.clear();
  viv = new Vivarium({ url: server.url, apiKey: 'viv_test', retryMs: 3000, reconnectMs: 5000 });
});
const sandbox = () => viv.sandboxes.ref(SANDBOX_ID);

test('a port connection carries bytes both ways and ends each way by itself', async () => {
  server.onOpen = (_req, channel) => {
    channel.opened({});
    channel.onInput = (chunk) => void channel.data(1, chunk);
    channel.onInputEnd = () => {
      channel.eof(1);
      channel.closed();
    };
  };
  const connection = await sandbox().ports.connect(80);
  const big = Buffer.alloc(400_000, 'z');
  await connection.write('hello ');
  await connection.write(big);
  await connection.end();
  const echoed = Buffer.concat(await collect(connection));
  assert.equal(echoed.length, 400_006);
  assert.ok(echoed.subarray(6).equals(big));
  await connection.closed;
});

test('web streams of a connection work with pipeTo', async () => {
  server.onOpen = (_req, channel) => {
    channel.opened({});
    channel.onInput = (chunk) => void channel.data(1, chunk);
    channel.onInputEnd = () => {
      channel.eof(1);
      channel.closed();
    };
  };
  const connection = await sandbox().ports.connect(80);
  await new Blob(['abc']).stream().pipeTo(connection.writable);
  assert.equal(await new Response(connection.readable).text(), 'abc');
});

test('a refused port is port_closed', async () => {
  server.onOpen = (_req, channel) => channel.closed(new VivError('port_closed', 'nothing listens on 81'));
  await assert.rejects(sandbox().ports.connect(81), { code: 'port_closed', message: 'nothing listens on 81' });
});

test('a broken connection ends ports with connection_lost, as their bytes can not be brought back', async () => {
  server.onOpen = (_req, channel) => channel.opened({});
  const connection = await sandbox().ports.connect(80);
  const reading = connection[Symbol.asyncIterator]().next();
  server.cut();
  await assert.rejects(reading, { code: 'connection_lost' });
});

test('a listener hands out connections that the server opens', async () => {
  server.onOpen = (req, channel) => {
    assert.deepEqual(req, { op: 'port.listen', sandbox: SANDBOX_ID, port: 0 });
    channel.opened({ port: 4000 });
    channel.event({ type: 'listening', port: 4000 });
    channel.event({ type: 'connection', conn: 2 });
    const connection = channel.sibling(2);
    connection.onInput = (chunk) => {
      assert.equal(chunk.toString(), 'pong');
      connection.eof(1);
      connection.closed();
    };
    void connection.data(1, Buffer.from('ping'));
  };
  await using listener = await sandbox().ports.listen(0);
  assert.equal(listener.port, 4000);
  for await (const connection of listener) {
    const first = await connection[Symbol.asyncIterator]().next();
    assert.equal(Buffer.from(first.value as Uint8Array).toString(), 'ping');
    await connection.write('pong');
    await connection.closed;
    break;
  }
});

test('a lease is held again after a break, and its loss is seen', async () => {
  const info = {
    id: 'l'.repeat(20),
    label: 'job',
    graceS: 5,
    onExpire: 'kill',
    state: 'held',
    createdAt: '',
    expiresAt: null,
    sandboxes: 0,
  };
  server.routes.set('POST /v1/leases', { json: info });
  server.onOpen = (req, channel) => {
    assert.equal(req.op, 'lease.hold');
    if (server.opens.length < 3) channel.opened(info);
    else channel.closed(new VivError('lease_not_found', 'expired'));
  };
  const lease = await viv.lease('job', { graceS: 5 });
  server.cut();
  while (server.opens.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  server.cut();
  await assert.rejects(lease.lost, { code: 'lease_not_found' });
});

test('a followed journal carries on after the last record it has seen', async () => {
  const record = (seq: number) => ({ seq, at: '', type: 'state', data: {}, prev: '', hash: '' });
  server.onOpen = (req, channel) => {
    if (req.op !== 'logs.follow') throw new Error('unexpected');
    channel.opened({});
    channel.event(record(req.after + 1));
    if (req.after < 2) setTimeout(() => server.cut(), 10);
    else channel.closed();
  };
  const records = await collect(sandbox().logs({ follow: true }));
  assert.deepEqual(
    records.map(({ seq }) => seq),
    [0, 1, 2, 3],
  );
});

test('a watch says after a break that something may have been missed', async () => {
  server.onOpen = (_req, channel) => {
    channel.opened({});
    channel.event({ kind: 'create', path: `f${server.opens.length}`, isDir: false });
    if (server.opens.length === 1) setTimeout(() => server.cut(), 10);
  };
  const kinds: string[] = [];
  for await (const event of await sandbox().files.watch('/tmp')) {
    kinds.push(`${event.kind} ${event.path}`);
    if (kinds.length === 3) break;
  }
  assert.deepEqual(kinds, ['create f1', 'overflow ', 'create f2']);
});

test('wait resolves on the news, also when the state was reached before it was asked', async () => {
  let state: 'running' | 'ended' = 'running';
  server.routes.set(`GET /v1/sandboxes/${SANDBOX_ID}`, () => ({ json: fakeSandbox({ state }) }));
  server.onOpen = (_req, channel) => {
    channel.opened({});
    setTimeout(
      () => channel.event({ type: 'sandbox', sandbox: fakeSandbox({ state: 'ended', endReason: 'ttl' }) }),
      20,
    );
  };
  assert.equal((await sandbox().wait()).info.endReason, 'ttl');
  state = 'ended';
  assert.equal((await sandbox().wait('ended')).state, 'ended');
  await assert.rejects(sandbox().wait('paused'), { code: 'sandbox_dead' });
});

test('an opening that is refused because the server stops is tried again', async () => {
  server.onOpen = (_req, channel) => {
    if (server.opens.length < 3) return channel.closed(new VivError('shutting_down', 'stopping'));
    channel.opened(fakeExec());
    channel.event({ type: 'exit', exec: endedExec(0) });
  };
  assert.equal((await sandbox().exec('x')).exitCode, 0);
  assert.equal(server.opens.length, 3);
});

test('input on its way when the connection breaks is reported, not silently lost', async () => {
  let attached: FakeChannel | undefined;
  server.onOpen = (req, channel) => {
    channel.opened(fakeExec());
    if (req.op === 'exec.attach') attached = channel;
  };
  const process = await sandbox().spawn('cat', { stdin: true });
  await process.write('first');
  server.cut();
  while (!attached) await new Promise((resolve) => setTimeout(resolve, 5));
  await assert.rejects(process.write('second'), { code: 'connection_lost', message: /input was on its way/ });
});

test('a terminal goes on after a break: a person types it again', async () => {
  let attached: FakeChannel | undefined;
  server.onOpen = (req, channel) => {
    channel.opened(fakeExec());
    if (req.op === 'exec.attach') attached = channel;
  };
  const process = await sandbox().spawn('bash', { pty: true });
  await process.write('first');
  server.cut();
  while (!attached) await new Promise((resolve) => setTimeout(resolve, 5));
  await process.write('second');
  while (attached.received.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(Buffer.concat(attached.received).toString(), 'second');
});

test('a gap in the output is told and counted', async () => {
  server.onOpen = (req, channel) => {
    channel.opened(fakeExec());
    if (req.op !== 'exec.attach') return;
    channel.event({ type: 'gap', sub: 1, from: 0, to: 100 });
    void channel.data(1, Buffer.from('rest'));
    channel.event({ type: 'exit', exec: endedExec(0) });
  };
  const process = await sandbox().attach('e'.repeat(20));
  const gaps: unknown[] = [];
  process.onGap((gap) => gaps.push(gap));
  assert.equal(await process.stdout.text(), 'rest');
  assert.deepEqual(gaps, [{ stream: 'stdout', from: 0, to: 100 }]);
  assert.equal(process.stdout.offset, 104);
});

test('detaching leaves the command running and says so to who waits', async () => {
  server.onOpen = (_req, channel) => channel.opened(fakeExec());
  const process = await sandbox().spawn('sleep');
  const waiting = process.wait();
  process.detach();
  await assert.rejects(waiting, { code: 'connection_lost', message: /it runs on/ });
});

test('lines are cut at newlines wherever the chunks end', async () => {
  server.onOpen = async (_req, channel) => {
    channel.opened(fakeExec());
    for (const part of ['a', 'b\nc', 'é', '\n\nlast']) await channel.data(1, Buffer.from(part));
    channel.event({ type: 'exit', exec: endedExec(0) });
  };
  const process = await sandbox().spawn('x');
  assert.deepEqual(await collect(process.stdout.lines()), ['ab', 'cé', '', 'last']);
});

test('a server that sends garbage ends every stream with an error, and nothing crashes', async () => {
  server.onOpen = () => {
    for (const socket of server.sockets) socket.send('no json');
  };
  await assert.rejects(sandbox().exec('x'), { code: 'internal', message: /no message/ });
});

test('a connection that keeps breaking at once is given up after a while', async () => {
  server.onOpen = (_req, channel) => {
    channel.opened(fakeExec());
    server.cut();
  };
  const impatient = new Vivarium({ url: server.url, apiKey: 'k', retryMs: 100 });
  await assert.rejects(impatient.sandboxes.ref(SANDBOX_ID).exec('x'), { code: 'connection_lost' });
  assert.equal(server.opens.length, 11);
  impatient.close();
});
