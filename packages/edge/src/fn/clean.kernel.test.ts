import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Limits } from '@vivarium/protocol';
import pino from 'pino';
import { inMountNamespace, openTestNode, type TestNode } from '../drivers/container/test-node.ts';
import { FnDriver } from '../drivers/fn/driver.ts';
import type { FnCall } from '../edge.ts';
import { FakeImages } from '../fakes/fake-images.ts';
import { type OpenEdge, openEdge } from '../open-edge.ts';
import { LEAVE_MUCH_SCRIPT, LEAVE_SCRIPT, LOOK_SCRIPT, leaveProgram } from './test-traces.ts';

/** A pool of one container over the real driver: each call gets what the one before left, if anything is left. */
if (inMountNamespace(import.meta.filename)) {
  let node: TestNode;
  let edge: OpenEdge;
  let leave: Uint8Array;
  const owner = { keyId: 'k', maxSandboxes: null };

  before(async () => {
    leave = leaveProgram();
    node = await openTestNode();
    edge = await openEdge({
      stateDir: node.stateDir,
      drivers: [node.driver, new FnDriver(node.driver)],
      images: new FakeImages(node.layers),
      log: pino({ level: process.env.VIV_TEST_LOG ?? 'silent' }),
      limits: { minFreeDiskBytes: 0, minFreeMemoryBytes: 0 },
      fnLimits: { poolContainers: 1 },
    });
  });
  after(async () => {
    await edge.endAll();
    await edge.close();
    await node.close();
  });

  const call = (script: string, more: Partial<FnCall> = {}): FnCall => ({
    image: 'base/test@1',
    limits: Limits.parse({ memoryMiB: 256, diskMiB: 64 }),
    files: [{ path: 'leave', content: leave, mode: 0o755 }],
    run: { argv: ['sh', '-c', script], timeoutMs: 30_000 },
    env: {},
    cwd: '/tmp/fn',
    filesOut: [],
    filesOutBytesMax: 1_000_000,
    filesOutMax: 10,
    keepBytes: 8_000_000,
    ...more,
  });
  const run = async (script: string, more: Partial<FnCall> = {}) => {
    const result = await edge.fn.run(call(script, more), owner);
    const text = (base64 = '') => Buffer.from(base64, 'base64').toString('latin1');
    return {
      ...result,
      out: text(result.run?.stdoutB64),
      err: text(result.run?.stderrB64),
      code: result.run?.exitCode,
    };
  };
  const look = async () => {
    const { out, sandbox, code, err } = await run(LOOK_SCRIPT);
    assert.equal(code, 0, err);
    return { seen: out.replaceAll(/\b[0-9a-f]{16}:/g, ''), sandbox };
  };

  test('the next call sees nothing of what one left in every place it could write to', async (t) => {
    const first = await look();
    for (const [who, script] of [
      ['root', LEAVE_SCRIPT],
      ['user', LEAVE_SCRIPT],
      ['root', LEAVE_MUCH_SCRIPT],
      ['user', LEAVE_MUCH_SCRIPT],
    ] as const) {
      await t.test(`${who} ${script === LEAVE_SCRIPT ? 'everywhere' : 'much'}`, async () => {
        const left = await run(script, { user: who });
        assert.equal(left.code, 0, left.err);
        if (script === LEAVE_SCRIPT) assert.match(left.out, /made 6/);
        const then = await look();
        assert.equal(then.sandbox, first.sandbox, 'the same container');
        assert.equal(then.seen, first.seen);
      });
    }
  });

  test('a look that follows the traces in the same call finds them: the look is not blind', async () => {
    const { seen } = await look();
    const { out } = await run(`${LEAVE_SCRIPT}\ncd /tmp/fn; ${LOOK_SCRIPT}`);
    for (const trace of ['@left', 'sleep 1\n', '/dev/shm/left', '/etc/left', '/root/left.d', '/crontabs/root']) {
      assert.ok(out.includes(trace), trace);
      assert.ok(!seen.includes(trace), trace);
    }
    const busybox = (text: string) => /\w+ {2}\/bin\/busybox/.exec(text)?.[0];
    assert.notEqual(busybox(out), busybox(seen));
  });

  test('a quota that one call used up is whole for the next', async () => {
    const fill = 'dd if=/dev/zero of=/tmp/large bs=1M count=50 2>&1 && sync';
    for (let i = 0; i < 3; i++) assert.equal((await run(fill)).code, 0);
  });
}
