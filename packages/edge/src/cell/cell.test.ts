import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { VivError } from '@vivarium/protocol';
import type { Cell } from './cell.ts';
import { Command } from './fixture/command.ts';
import { RealGuest } from './fixture/real-guest.ts';
import { rlimitsOf } from './rlimit.ts';

let guest: RealGuest;
let cell: Cell;
before(async () => {
  guest = await RealGuest.start();
  cell = await guest.open({ config: { env: { FROM_CONFIG: 'yes' } } });
});
after(async () => {
  cell.close();
  await guest.stop();
});

const sh = (script: string): string[] => ['/bin/sh', '-c', script];
const none = { onData: () => {}, onEof: () => {}, onExit: () => {}, onFail: () => {} };
const MIB = 1_048_576;

test('a command ends with its exit code and both its outputs', async () => {
  const { done } = await Command.run(cell, { argv: sh('echo out; echo err >&2; exit 7') });
  const { exit, stdout, stderr } = await done;
  assert.deepEqual([exit.kind, exit.code, stdout, stderr], ['exited', 7, 'out\n', 'err\n']);
  assert.ok(exit.maxRssKiB > 0);
});

test('a command that a signal ends says which', async () => {
  const command = await Command.run(cell, { argv: ['sleep', '60'] });
  command.process.signal(15);
  const { exit } = await command.done;
  assert.deepEqual([exit.kind, exit.code], ['signaled', 15]);
});

test('environment comes from CONFIG and from the request, and reaches no shell on its way', async () => {
  const env = { WEIRD: '$(touch /tmp/x) "\n\'', FROM_REQUEST: 'ü' };
  const { done } = await Command.run(cell, {
    argv: sh('printf "%s|%s|%s" "$FROM_CONFIG" "$FROM_REQUEST" "$WEIRD"'),
    env,
  });
  assert.equal((await done).stdout, `yes|ü|${env.WEIRD}`);
});

test('working directory, user and limits are those of the request', async () => {
  const request = {
    argv: sh('pwd; id -un; ulimit -n'),
    cwd: '/usr',
    user: 'nobody',
    rlimits: rlimitsOf({ nofile: 77 }),
  };
  assert.equal((await (await Command.run(cell, request)).done).stdout, '/usr\nnobody\n77\n');
});

test('stdin reaches the command and ends', async () => {
  const command = await Command.run(cell, { argv: ['sha256sum'], stdin: true });
  const chunk = Buffer.alloc(300_000, 'vivarium');
  for (let i = 0; i < 10; i++) await command.process.write(chunk);
  command.process.closeStdin();
  const expected = createHash('sha256')
    .update(Buffer.concat(Array(10).fill(chunk)))
    .digest('hex');
  assert.equal((await command.done).stdout, `${expected}  -\n`);
});

test('a command without stdin sees the end of it at once', async () => {
  const { done } = await Command.run(cell, { argv: ['cat'] });
  assert.equal((await done).exit.code, 0);
});

test('writing to a command that does not read does not hang for ever', async () => {
  const command = await Command.run(cell, { argv: sh('exec <&-; sleep 0.2'), stdin: true });
  for (let i = 0; i < 20; i++) await command.process.write(Buffer.alloc(100_000)).catch(() => {});
  assert.equal((await command.done).exit.code, 0);
});

test('a terminal has its size, takes input, and is resized', async () => {
  const command = await Command.run(cell, {
    argv: sh('stty size; read x; stty size'),
    pty: { rows: 10, cols: 40 },
    stdin: true,
  });
  while (command.received[1] === 0) await sleep(5);
  command.process.resize(30, 100);
  await command.process.write(Buffer.from('go\n'));
  const { stdout } = await command.done;
  assert.equal(stdout, '10 40\r\ngo\r\n30 100\r\n');
});

test('merged output keeps its order on one channel', async () => {
  const { done } = await Command.run(cell, { argv: sh('echo a; echo b >&2; echo c'), mergeStderr: true });
  assert.equal((await done).stdout, 'a\nb\nc\n');
});

test('a missing program is 127, one that may not run is 126', async () => {
  for (const [argv, exitCode] of [
    [['/no/such/program'], 127],
    [['/etc/passwd'], 126],
  ] as const) {
    let failed = 0;
    const process = await cell.spawn({
      argv: [...argv],
      env: {},
      stdin: false,
      tag: new Uint8Array(0),
      handlers: { ...none, onFail: () => failed++ },
    });
    await assert.rejects(process.start(), (error) => {
      assert.ok(error instanceof VivError);
      assert.deepEqual([error.code, error.details.exitCode], ['spawn_failed', exitCode]);
      return true;
    });
    assert.equal(failed, 1);
  }
});

test('a spawn that can’t be is refused with its reason', async () => {
  const request = { env: {}, stdin: false, tag: new Uint8Array(0), handlers: none };
  await assert.rejects(
    cell.spawn({ ...request, argv: ['true'], user: 'nosuchuser' }).then((p) => p.start()),
    { code: 'user_unknown' },
  );
  await assert.rejects(
    cell.spawn({ ...request, argv: ['true'], cwd: '/no/where' }).then((p) => p.start()),
    { code: 'path_not_found' },
  );
  await assert.rejects(cell.spawn({ ...request, argv: [] }), { code: 'invalid_argument' });
  await assert.rejects(cell.spawn({ ...request, argv: ['a\0b'] }), { code: 'invalid_argument' });
  await assert.rejects(cell.spawn({ ...request, argv: ['x'.repeat(2 * MIB)] }), { code: 'invalid_argument' });
  await assert.rejects(cell.spawn({ ...request, argv: ['true'], env: { 'A=B': 'c' } }), { code: 'invalid_argument' });
});

test('nothing runs before start, and a canceled child never does', async () => {
  const path = Buffer.from(`${guest.dir}/ran`);
  const request = { argv: ['touch', path], env: {}, stdin: false, tag: new Uint8Array(0), handlers: none };
  const process = await cell.spawn(request);
  assert.ok(process.pid > 0);
  await sleep(50);
  process.cancel();
  await cell.ping();
  await assert.rejects(cell.stat(path), { code: 'path_not_found' });
  await assert.rejects(process.start(), VivError);
});

test('a child that is killed while it waits says so, and start() resolves', async () => {
  for (let i = 0; i < 20; i++) {
    const command = new Command({ channels: 2 });
    const request = { argv: ['true'], env: {}, stdin: false, tag: new Uint8Array(0), handlers: command.handlers };
    command.process = await cell.spawn(request);
    process.kill(command.process.pid, 'SIGKILL');
    if (i % 2) await sleep(5);
    await command.process.start().catch(() => {});
    const { exit } = await command.done;
    assert.deepEqual([exit.kind, exit.code], ['signaled', 9]);
  }
  assert.equal(cell.stats.protocolErrors, 0);
});

test('256 MiB of output arrive whole', async () => {
  const script = 'seq 1 40000000 | head -c 268435456';
  const summed = await Command.run(cell, { argv: sh(`${script} | sha256sum`) });
  const command = await Command.run(cell, { argv: sh(script), window: MIB }, false);
  const { bytes, sha256 } = await command.done;
  assert.equal(bytes, 268_435_456);
  assert.equal((await summed.done).stdout, `${sha256}  -\n`);
});

test('a reader that stops makes the writer wait, and gets everything when it goes on', async () => {
  const total = 4 * MIB;
  let taken = 0;
  const ended = Promise.withResolvers<void>();
  const exited = Promise.withResolvers<void>();
  const process = await cell.spawn({
    argv: sh(`head -c ${total} /dev/zero`),
    env: {},
    stdin: false,
    mergeStderr: true,
    tag: new Uint8Array(0),
    handlers: {
      ...none,
      onData: (_chan, offset, chunk) => (taken = offset + chunk.length),
      onEof: () => ended.resolve(),
      onExit: () => exited.resolve(),
    },
  });
  await process.start();
  while (taken < 65_536) await sleep(1);
  await sleep(200);
  assert.equal(taken, 65_536);
  for (let limit = taken; taken < total; limit += 100_000) {
    process.ack(1, taken, limit);
    await sleep(1);
  }
  // A command may close its output before it ends.
  await Promise.all([ended.promise, exited.promise]);
  assert.equal(taken, total);
  process.release();
});

test('a background child that holds the pipe does not hold the command', async () => {
  const { done } = await Command.run(cell, { argv: sh('sleep 60 & echo $!') });
  const { stdout, exit } = await done;
  assert.equal(exit.code, 0);
  process.kill(Number(stdout), 'SIGKILL');
});

test('kill-tree ends what left its session', async () => {
  const command = await Command.run(cell, { argv: sh('setsid sleep 61 & sleep 62') });
  await sleep(100);
  command.process.killTree();
  assert.equal((await command.done).exit.kind, 'signaled');
  const left = (await cell.processes()).filter((one) => one.argv[1] === '61' && one.state !== 'Z');
  assert.deepEqual(left, []);
});

test('200 commands at once keep their outputs apart', async () => {
  const results = await Promise.all(
    Array.from({ length: 200 }, async (_, index) => {
      const command = await Command.run(cell, { argv: sh(`echo ${index}; echo e${index} >&2; exit ${index % 100}`) });
      return command.done;
    }),
  );
  results.forEach(({ exit, stdout, stderr }, index) => {
    assert.deepEqual([exit.code, stdout, stderr], [index % 100, `${index}\n`, `e${index}\n`]);
  });
});

test('output that is not UTF-8 passes unchanged', async () => {
  const command = await Command.run(cell, { argv: sh("printf '\\377\\000\\376'") });
  await command.done;
  assert.deepEqual([...Buffer.concat(command.kept[0])], [255, 0, 254]);
});

test('the process list names what runs', async () => {
  const command = await Command.run(cell, { argv: ['sleep', '63'] });
  const found = (await cell.processes()).find((one) => one.pid === command.process.pid);
  assert.deepEqual([found?.comm, found?.argv], ['sleep', ['sleep', '63']]);
  command.process.signal(9);
  await command.done;
});

test('an idle cell answers', async () => {
  await cell.ping();
  await cell.reseed(crypto.getRandomValues(new Uint8Array(32)));
  assert.equal(cell.bootNonce.length, 16);
  assert.deepEqual([cell.stats.reconnects, cell.stats.protocolErrors], [0, 0]);
});
