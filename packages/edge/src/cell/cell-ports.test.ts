import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { after, before, test } from 'node:test';
import type { Cell } from './cell.ts';
import type { CellListener } from './cell-listener.ts';
import { RealGuest } from './fixture/real-guest.ts';

let guest: RealGuest;
let cell: Cell;
before(async () => {
  guest = await RealGuest.start();
  cell = await guest.open();
});
after(async () => {
  cell.close();
  await guest.stop();
});

/** A connection from the sandbox to a listener in the sandbox, both ends of it here. */
async function pair(listener: CellListener, connect: () => Promise<Duplex>): Promise<[Duplex, Duplex]> {
  const came = new Promise<Duplex>((resolve) => listener.onConnection(resolve));
  return [await connect(), await came];
}

async function text(stream: Duplex): Promise<string> {
  let all = '';
  for await (const bytes of stream) all += bytes;
  return all;
}

test('TCP goes both ways and each direction ends by itself', async () => {
  const listener = await cell.listenTcp(0);
  const [inner, outer] = await pair(listener, () => cell.connectTcp(listener.port, 'localhost'));
  inner.end('question');
  assert.equal(await text(outer), 'question');
  outer.end('answer');
  assert.equal(await text(inner), 'answer');
  listener.close();
});

test('a unix socket works, with a name that is not UTF-8', async () => {
  const path = Buffer.concat([Buffer.from(`${guest.dir}/s`), Buffer.from([0xff])]);
  const listener = await cell.listenUnix(path, { mode: 0o666 });
  assert.equal(listener.port, 0);
  assert.equal((await cell.stat(path)).mode, 0o666);
  const [inner, outer] = await pair(listener, () => cell.connectUnix(path));
  inner.end('x');
  assert.equal(await text(outer), 'x');
  outer.end();
  listener.close();
});

test('a closed port, a missing socket, a taken port and a wrong one have their errors', async () => {
  const listener = await cell.listenTcp(0);
  await assert.rejects(cell.listenTcp(listener.port), { code: 'state_conflict' });
  listener.close();
  await cell.ping();
  await assert.rejects(cell.connectTcp(listener.port), { code: 'port_closed', retryable: true });
  await assert.rejects(cell.connectUnix(Buffer.from('/no/socket')), { code: 'port_closed' });
  await assert.rejects(cell.connectTcp(70_000), { code: 'invalid_argument' });
});

test('32 MiB pass each way unchanged', async () => {
  const listener = await cell.listenTcp(0);
  const [inner, outer] = await pair(listener, () => cell.connectTcp(listener.port));
  const chunk = crypto.getRandomValues(Buffer.alloc(65_536));
  const digest = (count: number): string => {
    const hash = createHash('sha256');
    for (let i = 0; i < count; i++) hash.update(chunk);
    return hash.digest('hex');
  };
  async function* source(): AsyncGenerator<Buffer> {
    for (let i = 0; i < 512; i++) yield chunk;
  }
  const [there, back] = [createHash('sha256'), createHash('sha256')];
  outer.on('data', (bytes: Buffer) => there.update(bytes));
  inner.on('data', (bytes: Buffer) => back.update(bytes));
  await Promise.all([
    pipeline(source(), inner, { end: true }),
    pipeline(source(), outer, { end: true }),
    once(inner, 'end'),
    once(outer, 'end'),
  ]);
  assert.equal(there.digest('hex'), digest(512));
  assert.equal(back.digest('hex'), digest(512));
  listener.close();
});

test('a side that does not read makes the other wait', async () => {
  const listener = await cell.listenTcp(0);
  const [inner, outer] = await pair(listener, () => cell.connectTcp(listener.port));
  let written = 0;
  let full = false;
  while (!full && written < 64 * 1_048_576) {
    const chunk = Buffer.alloc(65_536);
    written += chunk.length;
    full =
      !inner.write(chunk) &&
      !(await Promise.race([once(inner, 'drain'), new Promise((resolve) => setTimeout(resolve, 300, null))]));
  }
  assert.ok(full, 'the writer was never stopped');
  outer.resume();
  await once(inner, 'drain');
  const over = Promise.race([once(outer, 'end'), once(outer, 'close')]);
  inner.destroy();
  await over;
  listener.close();
});

test('destroying one end ends the other', async () => {
  const listener = await cell.listenTcp(0);
  const [inner, outer] = await pair(listener, () => cell.connectTcp(listener.port));
  outer.resume();
  inner.destroy();
  await once(outer, 'end');
  outer.destroy();
  listener.close();
  assert.equal(cell.stats.protocolErrors, 0);
});

test('connections that come early wait for the callback', async () => {
  const listener = await cell.listenTcp(0);
  const inner = await cell.connectTcp(listener.port);
  inner.end('early');
  await cell.ping();
  const outer = await new Promise<Duplex>((resolve) => listener.onConnection(resolve));
  assert.equal(await text(outer), 'early');
  outer.end();
  listener.close();
});

test('a hundred connections at once', async () => {
  const listener = await cell.listenTcp(0);
  listener.onConnection((connection) => connection.pipe(connection));
  const answers = await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      const inner = await cell.connectTcp(listener.port);
      inner.end(`echo ${index}`);
      return text(inner);
    }),
  );
  assert.deepEqual(
    answers,
    Array.from({ length: 100 }, (_, index) => `echo ${index}`),
  );
  listener.close();
  assert.equal(cell.stats.protocolErrors, 0);
});
