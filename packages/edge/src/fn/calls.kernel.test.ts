import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Limits } from '@vivarium/protocol';
import pino from 'pino';
import { paths } from '../drivers/container/place.ts';
import { inMountNamespace, openTestNode, type TestNode } from '../drivers/container/test-node.ts';
import { FnDriver } from '../drivers/fn/driver.ts';
import type { FnCall } from '../edge.ts';
import { FakeImages } from '../fakes/fake-images.ts';
import { type OpenEdge, openEdge } from '../open-edge.ts';

/** Calls over the real driver and the real guest. */
if (inMountNamespace(import.meta.filename)) {
  let node: TestNode;
  let edge: OpenEdge;
  const owner = { keyId: 'k', maxSandboxes: null };

  const open = async () => {
    edge = await openEdge({
      stateDir: node.stateDir,
      drivers: [node.driver, new FnDriver(node.driver)],
      images: new FakeImages(node.layers),
      log: pino({ level: process.env.VIV_TEST_LOG ?? 'silent' }),
      limits: { minFreeDiskBytes: 0, minFreeMemoryBytes: 0 },
    });
  };
  before(async () => {
    node = await openTestNode();
    await open();
  });
  after(async () => {
    await edge.endAll();
    await edge.close();
    await node.close();
  });

  const call = (script: string, more: Partial<FnCall> = {}): FnCall => ({
    image: 'base/test@1',
    limits: Limits.parse({ memoryMiB: 64, diskMiB: 32, pids: 32 }),
    files: [],
    run: { argv: ['sh', '-c', script], timeoutMs: 20_000 },
    env: {},
    cwd: '/tmp/fn',
    filesOut: [],
    filesOutBytesMax: 100,
    filesOutMax: 3,
    keepBytes: 100_000,
    ...more,
  });
  const run = async (script: string, more: Partial<FnCall> = {}) => {
    const result = await edge.fn.run(call(script, more), owner);
    const text = (base64 = '') => Buffer.from(base64, 'base64').toString();
    return { ...result, out: text(result.run?.stdoutB64), code: result.run?.exitCode, how: result.run?.outcome?.type };
  };

  test('files go in and come back, by name and by pattern, as the user of the call', async () => {
    const result = await run(
      'cat in/a; id -u; mkdir -p out/deep; echo 1 > out/1.txt; echo 2 > out/deep/2.txt; echo 3 > /tmp/b.log',
      {
        user: 'user',
        files: [{ path: 'in/a', content: Buffer.from('hello '), mode: 0o600 }],
        filesOut: ['out/**/*.txt', '/tmp/b.log', 'none', 'out/*.dat'],
      },
    );
    assert.equal(result.out, 'hello 1000\n');
    const files = Object.fromEntries(result.files.map(({ path, content }) => [path, Buffer.from(content).toString()]));
    assert.deepEqual(files, { '/tmp/b.log': '3\n', '/tmp/fn/out/1.txt': '1\n', '/tmp/fn/out/deep/2.txt': '2\n' });
    assert.deepEqual(result.filesLeft, [{ path: '/tmp/fn/none', reason: 'not_found' }]);
  });

  test('what is too large or too much is left and named', async () => {
    const result = await run('dd if=/dev/zero of=big bs=1000 count=1 2>&1; for i in 1 2 3 4; do echo x > s$i; done', {
      filesOut: ['big', 's*'],
    });
    assert.equal(result.files.length, 3);
    assert.deepEqual(result.filesLeft.map(({ path }) => path).sort(), ['/tmp/fn/big', '/tmp/fn/s4']);
  });

  test('a link that leads out of a call’s files leads nowhere but inside the container', async () => {
    const { files } = await run('ln -s /etc/passwd link', { filesOut: ['link'] });
    assert.match(Buffer.from(files[0]!.content).toString(), /^root:x:0:0:root:\/root/);
  });

  test('a time-out ends the call and all it started', async () => {
    const result = await run('(setsid sleep 300 &) ; echo begun; sleep 300', {
      run: { argv: ['sh', '-c', '(setsid sleep 300 &) ; echo begun; sleep 300'], timeoutMs: 300 },
    });
    assert.deepEqual([result.how, result.out], ['timeout', 'begun\n']);
    assert.doesNotMatch((await run('ps -o args')).out, /sleep/);
  });

  test('a call that uses up memory or processes does not trouble the next', async () => {
    assert.equal((await run('tail /dev/zero')).how, 'oom');
    await run(':(){ :|:& };:; sleep 0.2');
    const { code } = await run('for i in 1 2 3 4 5 6 7 8; do sleep 0 & done; wait');
    assert.equal(code, 0);
  });

  test('many calls at once each begin clean', async () => {
    const script =
      'test ! -e /var/mark && test ! -e /tmp/mark && mkdir -p /var && touch /var/mark /tmp/mark; echo $?; ps -o comm | grep -c "[s]leep"; sleep 100 &';
    const results = await Promise.all(Array.from({ length: 60 }, () => run(script)));
    assert.deepEqual([...new Set(results.map(({ code }) => code))], [0]);
    assert.deepEqual([...new Set(results.map(({ out }) => out))], ['0\n0\n']);
  });

  test('a container that dies under a call is that call’s loss only', async () => {
    const waiting = run('echo begun; sleep 30');
    let running: string | undefined;
    for (let i = 0; i < 200 && !running; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      const boxes = edge.sandboxes.list({ states: ['running'] }, { limit: 100 }).items;
      running = boxes.find(({ id }) => edge.execs.running(id).some(({ state }) => state === 'running'))?.id;
    }
    await edge.sandboxes.kill(running!);
    assert.match((await waiting).how ?? '', /canceled|sandbox_lost/);
    assert.equal((await run('true')).code, 0);
  });

  test('after a restart of the edge no container of before serves, and nothing of them is left at the end', async () => {
    await run('true');
    await edge.close();
    await node.reopen();
    await open();
    assert.equal((await run('true')).code, 0);
    await edge.endAll();
    assert.deepEqual(readdirSync(paths.cells(node.runDir)), []);
    assert.deepEqual(readdirSync(paths.sockets(node.runDir)), []);
    await edge.close();
    await open();
  });
}
