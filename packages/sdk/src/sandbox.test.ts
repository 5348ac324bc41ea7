import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { Vivarium } from './client.ts';
import { EXEC_ID, endedExec, fakeExec, fakeSandbox, SANDBOX_ID } from './testing/fake-exec.ts';
import { errorAnswer, FakeServer } from './testing/fake-server.ts';

let server: FakeServer;
let viv: Vivarium;
before(async () => {
  server = await FakeServer.start();
});
after(() => server.close());
beforeEach(() => {
  viv?.close();
  server.seen.length = 0;
  server.opens.length = 0;
  server.routes.clear();
  server.routes.set('POST /v1/sandboxes', { status: 201, json: fakeSandbox() });
  server.refuse = undefined;
  viv = new Vivarium({ url: server.url, apiKey: 'viv_test', retryMs: 3000, reconnectMs: 5000 });
});
after(() => viv.close());

test('create sends the key and one idempotency key for all attempts', async () => {
  let calls = 0;
  server.routes.set('POST /v1/sandboxes', () => (++calls < 3 ? { cut: true } : { json: fakeSandbox() }));
  const sandbox = await viv.sandboxes.create({ image: 'base/debian@12' });
  assert.equal(sandbox.id, SANDBOX_ID);
  assert.equal(server.seen.length, 3);
  assert.equal(new Set(server.seen.map((seen) => seen.headers['idempotency-key'])).size, 1);
  assert.equal(server.seen[0]!.headers.authorization, 'Bearer viv_test');
});

test('a refusal that does not heal is thrown at once, as the server said it', async () => {
  server.routes.set(
    'POST /v1/sandboxes',
    errorAnswer(new VivError('image_not_found', 'no image x@1', { details: { image: 'x@1' } })),
  );
  await assert.rejects(viv.sandboxes.create({ image: 'x@1' }), (error: VivError) => {
    assert.equal(error.code, 'image_not_found');
    assert.equal(error.message, 'no image x@1');
    assert.deepEqual(error.details, { image: 'x@1' });
    return true;
  });
  assert.equal(server.seen.length, 1);
});

test('exec returns outcome, code and both streams', async () => {
  server.onOpen = async (_req, channel) => {
    channel.opened(fakeExec());
    await channel.data(1, Buffer.from('out é'));
    await channel.data(2, Buffer.from('err'));
    channel.eof(1);
    channel.eof(2);
    channel.event({ type: 'exit', exec: endedExec(3) });
  };
  const result = await viv.sandboxes
    .ref(SANDBOX_ID)
    .exec(['a', 'b'], { cwd: '/x', env: { A: '1' }, user: 'u', timeoutMs: 9 });
  assert.equal(result.exitCode, 3);
  assert.deepEqual(result.outcome, { type: 'exited', code: 3 });
  assert.equal(result.stdout, 'out é');
  assert.equal(result.stderr, 'err');
  assert.throws(() => result.check(), { code: 'command_failed', message: /exited with 3: err/ });
  const open = server.opens[0] as { exec: unknown; stdinStream: boolean };
  assert.deepEqual(open.exec, { argv: ['a', 'b'], cwd: '/x', env: { A: '1' }, user: 'u', timeoutMs: 9 });
  assert.equal(open.stdinStream, false);
});

test('output that the command wrote before a broken connection and after it arrives once, in order', async () => {
  const all = Buffer.alloc(3_000_000, 'abcdefghij');
  server.onOpen = async (req, channel) => {
    if (req.op === 'exec.start') {
      channel.opened(fakeExec());
      await channel.data(1, all.subarray(0, 1_000_003));
      setTimeout(() => server.cut(), 20);
      return;
    }
    assert.equal(req.op, 'exec.attach');
    assert.equal(req.exec, EXEC_ID);
    channel.opened(fakeExec());
    await channel.data(1, all.subarray(req.stdoutOffset));
    channel.event({ type: 'exit', exec: endedExec(0) });
  };
  const result = await viv.sandboxes.ref(SANDBOX_ID).exec('x');
  assert.equal(result.stdoutBytes.length, all.length);
  assert.ok(Buffer.from(result.stdoutBytes).equals(all));
  assert.equal(server.opens.length, 2);
});

test('a start whose answer got lost is repeated with the same idempotency key', async () => {
  server.onOpen = async (_req, channel) => {
    if (server.opens.length === 1) return server.cut();
    channel.opened(fakeExec());
    channel.event({ type: 'exit', exec: endedExec(0) });
  };
  await viv.sandboxes.ref(SANDBOX_ID).exec('x');
  const keys = server.opens.map((open) => (open as { idempotencyKey: string }).idempotencyKey);
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
});

test('a reader that stops reading stops the writer, and nothing is lost', async () => {
  let sent = 0;
  const block = Buffer.alloc(65_536, 1);
  server.onOpen = async (_req, channel) => {
    channel.opened(fakeExec());
    for (let i = 0; i < 64; i++) {
      await channel.data(1, block);
      sent += block.length;
    }
    channel.event({ type: 'exit', exec: endedExec(0) });
  };
  const process = await viv.sandboxes.ref(SANDBOX_ID).spawn('x');
  const iterator = process.stdout[Symbol.asyncIterator]();
  await iterator.next();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.ok(sent <= 1_048_576 + 65_536, `the server could send ${sent}`);
  let bytes = block.length;
  for (let step = await iterator.next(); !step.done; step = await iterator.next()) bytes += step.value.length;
  assert.equal(bytes, 64 * block.length);
  assert.equal((await process.wait()).exitCode, 0);
});

test('input larger than the credit waits for the server and arrives whole', async () => {
  const input = Buffer.alloc(3 * 1_048_576 + 17, 'xyz');
  let channelSeen: import('./testing/fake-channel.ts').FakeChannel | undefined;
  server.onOpen = (_req, channel) => {
    channelSeen = channel;
    channel.opened(fakeExec());
    let got = 0;
    channel.onInput = (chunk) => {
      got += chunk.length;
      if (got % 262_144 === 0) channel.grant(got + 1_048_576);
    };
    channel.onInputEnd = () => channel.event({ type: 'exit', exec: endedExec(0) });
  };
  await viv.sandboxes.ref(SANDBOX_ID).exec('cat', { stdin: input });
  assert.ok(channelSeen);
  assert.equal(channelSeen.overCredit, false);
  assert.ok(Buffer.concat(channelSeen.received).equals(input));
});

test('wait() drops output that nobody reads, so that a loud command ends', async () => {
  server.onOpen = async (_req, channel) => {
    channel.opened(fakeExec());
    await channel.data(1, Buffer.alloc(5_000_000));
    channel.event({ type: 'exit', exec: endedExec(0) });
  };
  const process = await viv.sandboxes.ref(SANDBOX_ID).spawn('x');
  assert.equal((await process.wait()).exitCode, 0);
});

test('a refused key fails every stream with unauthenticated and is not retried', async () => {
  server.refuse = new VivError('unauthenticated', 'unknown key');
  await assert.rejects(viv.sandboxes.ref(SANDBOX_ID).exec('x'), { code: 'unauthenticated', message: 'unknown key' });
});

test('a server that is not there is named', async () => {
  const gone = await FakeServer.start();
  await gone.close();
  const nobody = new Vivarium({ url: gone.url, retryMs: 0 });
  await assert.rejects(nobody.node(), {
    code: 'server_unreachable',
    message: `can't reach ${gone.url} (ECONNREFUSED)`,
  });
  await assert.rejects(nobody.sandboxes.ref(SANDBOX_ID).exec('x'), { code: 'server_unreachable' });
});

for (const when of ['before', 'after'] as const) {
  test(`aborting an exec ${when} it has started cancels the command and throws the reason`, async () => {
    const abort = new AbortController();
    const canceled = new Promise<void>((resolve) => {
      server.onOpen = (_req, channel) => {
        server.routes.set(`DELETE /v1/sandboxes/${SANDBOX_ID}/execs/${EXEC_ID}`, () => {
          channel.event({ type: 'exit', exec: endedExec(137, { outcome: { type: 'canceled' } }) });
          resolve();
          return { json: {} };
        });
        if (when === 'before') abort.abort(new Error('enough'));
        channel.opened(fakeExec());
        if (when === 'after') setTimeout(() => abort.abort(new Error('enough')), 30);
      };
    });
    await assert.rejects(viv.sandboxes.ref(SANDBOX_ID).exec('sleep', { signal: abort.signal }), /enough/);
    await canceled;
  });
}

test('await using ends the sandbox', async () => {
  server.routes.set(`DELETE /v1/sandboxes/${SANDBOX_ID}`, {
    json: fakeSandbox({ state: 'ended', endReason: 'killed' }),
  });
  {
    await using sandbox = await viv.sandboxes.create({ image: 'base/debian@12' });
    assert.equal(sandbox.state, 'running');
  }
  assert.equal(server.seen.at(-1)!.method, 'DELETE');
});

test('ten thousand streams share one connection', async () => {
  server.onOpen = async (_req, channel) => {
    channel.opened(fakeExec());
    await channel.data(1, Buffer.from(String(channel.ch)));
    channel.event({ type: 'exit', exec: endedExec(0) });
  };
  const results = await Promise.all(Array.from({ length: 10_000 }, () => viv.sandboxes.ref(SANDBOX_ID).exec('x')));
  assert.equal(new Set(results.map((result) => result.stdout)).size, 10_000);
  assert.equal(server.sockets.size, 1);
});

test('the first use of the base image makes it; another image that is missing is an error', async () => {
  const missing = errorAnswer(new VivError('image_not_found', 'no such image'));
  let made = false;
  server.routes.set('POST /v1/sandboxes', () => (made ? { json: fakeSandbox() } : missing));
  server.routes.set('POST /v1/images/import', (seen) => {
    assert.deepEqual(JSON.parse(seen.body.toString()), {
      name: 'base/debian@12',
      source: { type: 'builtin', name: 'base' },
    });
    made = true;
    return { raw: Buffer.from('{"type":"progress","stage":"a","message":"b"}\n{"type":"done","image":{}}\n') };
  });
  await assert.rejects(viv.sandboxes.create({ image: 'other@1' }), { code: 'image_not_found' });
  const stages: string[] = [];
  const sandbox = await viv.sandboxes.create(
    { image: 'base/debian@12' },
    { onProgress: ({ stage }) => stages.push(stage) },
  );
  assert.equal(sandbox.id, SANDBOX_ID);
  assert.deepEqual(stages, ['a']);
});
