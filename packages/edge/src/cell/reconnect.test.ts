import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { afterEach, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { VivError } from '@vivarium/protocol';
import type { Cell } from './cell.ts';
import { Command } from './fixture/command.ts';
import { RealGuest } from './fixture/real-guest.ts';

const MIB = 1_048_576;
const sh = (script: string): string[] => ['/bin/sh', '-c', script];
const none = { onData: () => {}, onEof: () => {}, onExit: () => {}, onFail: () => {} };

let guest: RealGuest;
const cells: Cell[] = [];
beforeEach(async () => {
  guest = await RealGuest.start();
});
afterEach(async () => {
  for (const cell of cells.splice(0)) cell.close();
  await guest.stop();
});

async function open(options = {}): Promise<Cell> {
  const cell = await guest.open(options);
  cells.push(cell);
  return cell;
}

/** As a server that is killed: the sockets go, nobody says goodbye. */
function crash(cell: Cell): void {
  cell.close();
  cells.splice(cells.indexOf(cell), 1);
}

test('output goes on without gap or repeat when the connection breaks again and again', async () => {
  const cell = await open();
  const script = 'seq 1 9000000 | head -c 50331648';
  const summed = await Command.run(cell, { argv: sh(`${script} | sha256sum`) });
  const command = await Command.run(cell, { argv: sh(script), window: MIB }, false);
  let running = true;
  command.done.finally(() => {
    running = false;
  });
  for (let breaks = 0; running && breaks < 8; breaks++) {
    await sleep(15);
    guest.latest?.destroy();
  }
  const { sha256, bytes } = await command.done;
  assert.equal(bytes, 50_331_648);
  assert.equal((await summed.done).stdout, `${sha256}  -\n`);
  assert.ok(cell.stats.reconnects >= 1);
  assert.equal(cell.stats.protocolErrors, 0);
});

test('stdin goes on without gap or repeat', async () => {
  const cell = await open();
  const command = await Command.run(cell, { argv: ['sha256sum'], stdin: true });
  const hash = createHash('sha256');
  for (let i = 0; i < 100; i++) {
    const chunk = crypto.getRandomValues(Buffer.alloc(60_000));
    hash.update(chunk);
    await command.process.write(chunk);
    if (i % 20 === 10) guest.latest?.destroy();
  }
  command.process.closeStdin();
  guest.latest?.destroy();
  assert.equal((await command.done).stdout, `${hash.digest('hex')}  -\n`);
  assert.equal(cell.stats.protocolErrors, 0);
});

test('a command that ends while nobody is connected has its exit and output told later', async () => {
  const cell = await open();
  const commands = await Promise.all(
    [0, 1, 2].map((i) => Command.run(cell, { argv: sh(`sleep 0.05; echo ${i}; exit ${i}`) })),
  );
  guest.latest?.destroy();
  const results = await Promise.all(commands.map((command) => command.done));
  assert.deepEqual(
    results.map(({ exit, stdout }) => [exit.code, stdout]),
    [
      [0, '0\n'],
      [1, '1\n'],
      [2, '2\n'],
    ],
  );
});

test('SPAWN, START and their answers survive a break at any moment', async () => {
  for (let i = 0; i < 30; i++) {
    const cell = await open();
    const run = Command.run(cell, { argv: sh(`echo ${i}`) });
    if (i % 3 === 0) queueMicrotask(() => guest.latest?.destroy());
    else if (i % 3 === 1) setImmediate(() => guest.latest?.destroy());
    else setTimeout(() => guest.latest?.destroy(), 1);
    // A SPAWN that was lost on its way may say so; nothing else may happen.
    const result = await run.then(
      (command) => command.done,
      (error: VivError) => error.code,
    );
    if (result !== 'connection_lost') assert.equal(typeof result === 'string' ? result : result.stdout, `${i}\n`);
    await cell.ping().catch(() => {});
    assert.equal(cell.stats.protocolErrors, 0);
    crash(cell);
  }
});

test('a failure to execute is told although the connection broke meanwhile', async () => {
  const cell = await open();
  const process = await cell.spawn({ argv: ['/no/such'], env: {}, stdin: false, tag: Buffer.alloc(0), handlers: none });
  const started = process.start();
  setImmediate(() => guest.latest?.destroy());
  await assert.rejects(started, { code: 'spawn_failed' });
});

test('requests in flight fail with connection_lost and can be made again', async () => {
  const cell = await open();
  const watch = await cell.watch(Buffer.from(guest.dir));
  const next = watch.next();
  const port = await cell.listenTcp(0);
  const inner = await cell.connectTcp(port.port);
  const broken = new Promise((resolve) => inner.once('error', resolve));
  guest.latest?.destroy();
  await assert.rejects(next, { code: 'connection_lost', retryable: true });
  await broken;
  assert.equal((await cell.stat(Buffer.from('/'))).type, 'dir');
});

test('a listener lives through it', async () => {
  const cell = await open();
  const listener = await cell.listenTcp(0);
  guest.latest?.destroy();
  await cell.ping().catch(() => cell.ping());
  const came = new Promise<string>((resolve) => {
    listener.onConnection((connection) => connection.once('data', (bytes: Buffer) => resolve(bytes.toString())));
  });
  const inner = await cell.connectTcp(listener.port);
  inner.write('after');
  assert.equal(await came, 'after');
  listener.close();
  await cell.ping();
  await assert.rejects(cell.connectTcp(listener.port), { code: 'port_closed' });
});

test('another client takes over what a killed one left, from what that one had kept', async () => {
  const first = await open();
  const tag = Buffer.from('exec-1');
  const before = new Command({ channels: 2 });
  const script = 'seq 1 200000; read line; echo "got $line" >&2; exit 9';
  const request = { argv: sh(script), env: {}, stdin: true, tag, window: MIB, handlers: before.handlers };
  before.process = await first.spawn(request);
  await before.process.start();
  const waiting = await first.spawn({ ...request, tag: Buffer.from('exec-2'), handlers: none });
  await sleep(50);
  crash(first);
  const kept = before.received[1] as number;
  assert.ok(kept > 0);

  const second = await open();
  const retained = second.retained().sort((a, b) => a.stream - b.stream);
  assert.deepEqual(
    retained.map((one) => [Buffer.from(one.tag).toString(), one.phase]),
    [
      ['exec-1', 'running'],
      ['exec-2', 'waiting'],
    ],
  );
  assert.equal(retained[1]?.pid, waiting.pid);
  const after = new Command({ channels: 2 });
  after.received[1] = kept;
  const [one, two] = retained;
  assert.ok(one && two);
  after.process = second.resumeProcess(one, { out1: kept, out2: 0, in: one.received }, after.handlers);
  await after.process.write(Buffer.from('line\n'));
  const { exit, stdout, stderr } = await after.done;
  assert.deepEqual([exit.code, stderr], [9, 'got line\n']);
  const whole = Buffer.concat(before.kept[0]).toString() + stdout;
  assert.equal(whole, Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join(''));
  second.resumeProcess(two, { out1: 0, out2: 0, in: 0 }, none).cancel();
  assert.deepEqual(second.retained(), []);
  assert.throws(() => second.resumeProcess(one, { out1: 0, out2: 0, in: 0 }, none), { code: 'state_conflict' });
});

test('what ended between two clients is told to the second: an exit, a failure, a listener', async () => {
  const first = await open();
  const failing = await first.spawn({
    argv: ['/no/such'],
    env: {},
    stdin: false,
    tag: Buffer.from('fails'),
    handlers: none,
  });
  const command = new Command({ channels: 2 });
  command.process = await first.spawn({
    argv: sh('sleep 0.05; echo bye; exit 4'),
    env: {},
    stdin: false,
    tag: Buffer.from('ends'),
    handlers: command.handlers,
  });
  await command.process.start();
  const listener = await first.listenTcp(0, { tag: Buffer.from('reach') });
  failing.start().catch(() => {});
  setImmediate(() => crash(first));
  await sleep(150);

  const second = await open();
  const byTag = new Map(second.retained().map((one) => [Buffer.from(one.tag).toString(), one]));
  const ends = byTag.get('ends');
  assert.equal(ends?.phase, 'exited');
  const after = new Command({ channels: 2 });
  assert.ok(ends);
  after.process = second.resumeProcess(ends, { out1: 0, out2: 0, in: 0 }, after.handlers);
  const { exit, stdout } = await after.done;
  assert.deepEqual([exit.code, stdout], [4, 'bye\n']);
  const fails = byTag.get('fails');
  if (fails) {
    const failure = await new Promise<{ stage: number }>((resolve) => {
      second.resumeProcess(fails, { out1: 0, out2: 0, in: 0 }, { ...none, onFail: resolve });
    });
    assert.equal(failure.stage, 6);
  }
  const [kept] = second.retainedListeners();
  assert.equal(Buffer.from(kept?.tag ?? []).toString(), 'reach');
  assert.ok(kept);
  const resumed = second.resumeListener(kept);
  const came = new Promise((resolve) => resumed.onConnection(resolve));
  await second.connectTcp(listener.port);
  await came;
});

test('onRetained is called before open resolves', async () => {
  const first = await open();
  await first.spawn({ argv: ['true'], env: {}, stdin: false, tag: Buffer.from('x'), handlers: none });
  crash(first);
  let count = 0;
  await open({ onRetained: (retained: unknown[]) => (count = retained.length) });
  assert.equal(count, 1);
});

test('when PID 1 dies everything pending is rejected, once, and onLost is called after that', async () => {
  const lost = Promise.withResolvers<VivError>();
  const order: string[] = [];
  const cell = await open({
    onLost: (error: VivError) => {
      order.push('lost');
      lost.resolve(error);
    },
  });
  const command = await Command.run(cell, { argv: ['sleep', '64'] });
  const port = await cell.listenTcp(0);
  const waiting = await cell.spawn({ argv: ['true'], env: {}, stdin: false, tag: Buffer.alloc(0), handlers: none });
  const watch = (await cell.watch(Buffer.from(guest.dir))).next().catch(() => order.push('watch'));
  await guest.kill();
  assert.equal((await lost.promise).code, 'sandbox_lost');
  await watch;
  assert.deepEqual(order.sort(), ['lost', 'watch']);
  await assert.rejects(waiting.start(), { code: 'sandbox_lost' });
  await assert.rejects(cell.stat(Buffer.from('/')), { code: 'sandbox_lost' });
  await assert.rejects(cell.listenTcp(port.port), { code: 'sandbox_lost' });
  try {
    process.kill(command.process.pid, 'SIGKILL');
  } catch {
    // It died with PID 1.
  }
});

test('close() leaves the guest and its processes alone and is not a loss', async () => {
  let lost = 0;
  const cell = await open({ onLost: () => lost++ });
  await Command.run(cell, { argv: ['sleep', '0.3'] });
  crash(cell);
  await assert.rejects(cell.ping(), { code: 'connection_lost' });
  const again = await open();
  assert.equal(again.retained().length, 1);
  assert.equal(lost, 0);
});

test('shutdown ends PID 1', async () => {
  const lost = Promise.withResolvers<VivError>();
  const cell = await open({ onLost: lost.resolve });
  await cell.shutdown(100);
  assert.equal((await lost.promise).code, 'sandbox_lost');
  await guest.exited;
});
