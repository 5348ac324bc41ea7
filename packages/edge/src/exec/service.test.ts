import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { FakeEdge } from '../fakes/fake-edge.ts';

let fake: FakeEdge;
let id: string;
const text = (b64: string) => Buffer.from(b64, 'base64').toString();
const sha256 = (data: string) => createHash('sha256').update(data).digest('hex');

before(async () => {
  fake = await FakeEdge.open({ execsPerSandbox: 4 });
  id = (await fake.create()).id;
});
after(() => fake.close());

test('a command runs to its end and is returned with its output and digest', async () => {
  const result = await fake.run(id, ['print', 'hello']);
  assert.deepEqual(result.outcome, { type: 'exited', code: 0 });
  assert.equal(text(result.stdoutB64), 'hello');
  assert.deepEqual(result.stdout, { bytes: 5, keptBytes: 5, truncated: false, sha256: sha256('hello') });
  assert.equal(result.stderr.sha256, sha256(''));
  assert.equal(result.state, 'ended');
  assert.equal(result.cpuMs, 3);
  assert.equal(fake.driver.guest(id).processes.size, 0, 'the guest was told to forget it');
});

test('a missing program is 127 with a message, not an error', async () => {
  const result = await fake.run(id, ['missing']);
  assert.deepEqual(result.outcome, { type: 'exited', code: 127 });
  assert.equal(result.message, 'missing: not found');
});

test('a signal is told as such', async () => {
  const result = await fake.run(id, ['kill', '15']);
  assert.deepEqual(result.outcome, { type: 'signaled', signal: 15 });
  assert.equal(result.exitCode, 143);
});

test('an unknown user refuses the request, and the exec is in the list with the reason', async () => {
  await assert.rejects(fake.run(id, ['nouser'], { user: 'ghost' }), { code: 'user_unknown', message: /"ghost"/ });
  const last = (await fake.edge.execs.list(id, { limit: 1000 })).items.at(-1)!;
  assert.equal(last.outcome, null);
  assert.equal(last.state, 'ended');
  assert.match(last.message!, /no user "ghost"/);
});

test('a killed command is oom only when the count of OOM kills rose', async () => {
  const handle = fake.driver.cells.get(id)!;
  const running = await fake.start(id, ['wait']);
  handle.counted.oomKills += 1;
  fake.driver.guest(id).process(running.exec.id).exit('signaled', 9);
  assert.deepEqual((await running.done).outcome, { type: 'oom' });
  const again = await fake.run(id, ['kill', '9']);
  assert.deepEqual(again.outcome, { type: 'signaled', signal: 9 });
});

test('an earlier OOM kill, in a command that ended well, makes no later SIGKILL an oom', async () => {
  const handle = fake.driver.cells.get(id)!;
  const running = await fake.start(id, ['wait']);
  handle.counted.oomKills += 1;
  fake.driver.guest(id).process(running.exec.id).exit('exited', 0);
  const { outcome, annotations } = await running.done;
  assert.deepEqual([outcome, annotations], [{ type: 'exited', code: 0 }, ['memory_limit']]);
  const killed = await fake.run(id, ['kill', '9']);
  assert.deepEqual([killed.outcome, killed.annotations], [{ type: 'signaled', signal: 9 }, []]);
});

test('a command that waited much for its CPU quota is told so', async () => {
  const handle = fake.driver.cells.get(id)!;
  for (const [waitedMs, notes] of [
    [99, []],
    [100, ['throttled']],
  ] as const) {
    const running = await fake.start(id, ['wait']);
    await fake.clock.advance(900);
    handle.counted.throttledUs += waitedMs * 1000;
    fake.driver.guest(id).process(running.exec.id).exit('exited', 0);
    assert.deepEqual((await running.done).annotations, notes);
  }
});

test('a full disk and refused forks are annotations of a failed command', async () => {
  const handle = fake.driver.cells.get(id)!;
  const running = await fake.start(id, ['wait']);
  handle.counted.diskBytes = 4096 * 1_048_576;
  handle.counted.pidsDenied += 3;
  fake.driver.guest(id).process(running.exec.id).exit('exited', 1);
  const result = await running.done;
  assert.deepEqual(result.annotations, ['disk_limit', 'pids_limit']);
  assert.deepEqual(result.outcome, { type: 'exited', code: 1 });
  handle.counted.diskBytes = 0;
});

test('a time-out ends the command and returns the output so far', async () => {
  const pending = fake.run(id, ['wait'], { timeoutMs: 5000 });
  await fake.clock.advance(10);
  const [process] = [...fake.driver.guest(id).processes.values()];
  process!.print('partial');
  await fake.clock.advance(6000);
  const result = await pending;
  assert.deepEqual(result.outcome, { type: 'timeout' });
  assert.equal(result.exitCode, 124);
  assert.equal(text(result.stdoutB64), 'partial');
});

test('a command that is ended for its time has ended when the last of its processes has', async () => {
  const stream = await fake.start(id, ['wait'], {}, { timeoutMs: 5000 });
  let letGo = () => {};
  fake.driver.cells.get(id)!.groups.get(stream.exec.id)!.lastGone = new Promise((resolve) => {
    letGo = resolve;
  });
  await fake.clock.advance(6000);
  assert.equal((await fake.edge.execs.get(id, stream.exec.id)).state, 'running');
  letGo();
  assert.deepEqual((await stream.done).outcome, { type: 'timeout' });
});

test('more output than its limit ends the command', async () => {
  const stream = await fake.start(id, ['wait'], {}, { outputLimitBytes: 100 });
  fake.driver.guest(id).process(stream.exec.id).print('x'.repeat(101));
  const exec = await stream.done;
  assert.deepEqual(exec.outcome, { type: 'output_limit' });
  assert.equal(exec.stdout.bytes, 101);
});

test('output beyond keepBytes is counted and hashed but not kept', async () => {
  const result = await fake.run(id, ['write', '300000'], { keepBytes: 1000 });
  assert.equal(result.stdout.bytes, 300_000);
  assert.equal(result.stdout.keptBytes, 1000);
  assert.equal(result.stdout.sha256, sha256('x'.repeat(300_000)));
  assert.equal(text(result.stdoutB64), 'x'.repeat(1000));
  assert.deepEqual(result.annotations, ['output_truncated']);
});

test('nothing is acknowledged that is not on file or that an attached reader has not taken', async () => {
  let take = () => {};
  const got: number[] = [];
  const stream = await fake.start(id, ['wait'], {
    onData: (_sub, offset) => {
      got.push(offset);
      return new Promise<void>((resolve) => {
        take = resolve;
      });
    },
  });
  const process = fake.driver.guest(id).process(stream.exec.id);
  process.print('y'.repeat(400_000));
  await fake.clock.advance(1);
  assert.deepEqual([got.length, process.acked], [1, 0]);
  for (let i = 0; i < 200 && !stream.exec.stdout.bytes.toString().startsWith('400000'); i++) {
    take();
    await fake.clock.advance(0);
  }
  assert.equal(stream.exec.stdout.bytes, 400_000);
  process.exit('exited', 0);
  for (let i = 0; i < 50; i++) {
    take();
    await fake.clock.advance(0);
  }
  assert.equal((await stream.done).stdout.sha256, sha256('y'.repeat(400_000)));
});

test('a reader that goes away does not hold the command', async () => {
  const stream = await fake.start(id, ['wait'], { onData: () => new Promise(() => {}) });
  const process = fake.driver.guest(id).process(stream.exec.id);
  process.print('z'.repeat(500_000));
  stream.close();
  process.exit('exited', 0);
  const result = await fake.edge.execs.result(id, stream.exec.id, 1000);
  assert.equal(result.stdout.bytes, 500_000);
  assert.equal(result.state, 'ended');
});

test('attaching gives what was kept from any offset, then what is live', async () => {
  const stream = await fake.start(id, ['wait']);
  const process = fake.driver.guest(id).process(stream.exec.id);
  process.print('abc'.repeat(10_000));
  let seen = '';
  const second = await fake.edge.execs.attach(id, stream.exec.id, {
    stdin: false,
    stdoutOffset: 29_998,
    stderrOffset: 0,
    onData: (sub, _offset, chunk) => {
      if (sub === 1) seen += Buffer.from(chunk).toString();
    },
    onGap: () => assert.fail('gap'),
  });
  await new Promise((resolve) => setTimeout(resolve, 20));
  process.print('END');
  process.exit('exited', 0);
  await second.done;
  assert.equal(seen, 'bcEND');
  assert.equal((await fake.edge.execs.get(id, stream.exec.id)).stdout.bytes, 30_003);
});

test('attaching after the end gives what was kept and says what is missing', async () => {
  const { id: exec } = await fake.run(id, ['write', '20000'], { keepBytes: 5000 });
  let bytes = 0;
  const gaps: number[][] = [];
  const stream = await fake.edge.execs.attach(id, exec, {
    stdin: false,
    stdoutOffset: 1000,
    stderrOffset: 0,
    onData: (_sub, _offset, chunk) => {
      bytes += chunk.length;
    },
    onGap: (_sub, from, to) => gaps.push([from, to]),
  });
  await stream.done;
  assert.equal(bytes, 4000);
  assert.deepEqual(gaps, [[5000, 20_000]]);
});

test('input that comes with the request is fed, then EOF; a stream feeds its own', async () => {
  const input = await fake.run(id, ['wait'], { stdin: Buffer.from('in').toString('base64'), detach: true });
  await fake.clock.advance(0);
  assert.equal(fake.driver.guest(id).process(input.id).stdin, 'in<eof>');
  const stream = await fake.start(id, ['wait'], { stdin: true });
  await stream.write(Buffer.from('live'));
  await stream.closeStdin();
  assert.equal(fake.driver.guest(id).process(stream.exec.id).stdin, 'live<eof>');
  await fake.edge.execs.cancel(id, input.id);
  await fake.edge.execs.cancel(id, stream.exec.id);
  assert.deepEqual((await stream.done).outcome, { type: 'canceled' });
  await assert.rejects(stream.write(Buffer.from('late')), { code: 'exec_not_running' });
});

test('one key runs one command; another request with it is refused', async () => {
  const key = { key: 'once', requestHash: 'h1' };
  const [first, second] = await Promise.all([
    fake.run(id, ['print', 'a'], {}, key),
    fake.run(id, ['print', 'a'], {}, key),
  ]);
  assert.equal(first.id, second.id);
  assert.equal((await fake.run(id, ['print', 'a'], {}, key)).id, first.id);
  await assert.rejects(fake.run(id, ['print', 'b'], {}, { key: 'once', requestHash: 'h2' }), {
    code: 'idempotency_mismatch',
  });
});

test('the list pages in the order of the journal', async () => {
  const all = (await fake.edge.execs.list(id, { limit: 1000 })).items;
  const paged = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await fake.edge.execs.list(id, { limit: 3, ...(cursor ? { cursor } : {}) });
    paged.push(...page.items);
    cursor = page.nextCursor;
  }
  assert.deepEqual(
    paged.map((exec) => exec.id),
    all.map((exec) => exec.id),
  );
});

test('the running commands are those that have not ended, oldest first', async () => {
  const streams = [await fake.start(id, ['wait']), await fake.start(id, ['wait'])];
  await fake.run(id, ['print', 'x']);
  const running = () => fake.edge.execs.running(id).map((exec) => exec.id);
  assert.deepEqual(
    running(),
    streams.map(({ exec }) => exec.id),
  );
  for (const { exec } of streams) await fake.edge.execs.cancel(id, exec.id);
  assert.deepEqual(running(), []);
  assert.throws(() => fake.edge.execs.running('x'.repeat(20)), { code: 'sandbox_not_found' });
});

test('more commands at once than allowed are refused by name', async () => {
  const running = await Promise.all([1, 2, 3, 4].map(() => fake.start(id, ['wait'])));
  await assert.rejects(fake.run(id, ['true']), { code: 'too_many_requests', message: /maximum is 4/ });
  await Promise.all(running.map(({ exec }) => fake.edge.execs.cancel(id, exec.id)));
});

test('an unknown exec and an unknown sandbox are told apart', async () => {
  await assert.rejects(fake.edge.execs.get(id, 'x'.repeat(20)), { code: 'exec_not_found' });
  await assert.rejects(fake.edge.execs.get('x'.repeat(20), 'x'.repeat(20)), { code: 'sandbox_not_found' });
});
