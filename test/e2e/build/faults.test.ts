import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { BuildOptions, VivError } from '@vivarium/sdk';
import { type BuildNode, startBuildNode } from '../../harness/build-node.ts';
import { runViv } from '../../harness/node.ts';

type Failing = { steps: string; says: RegExp; options?: Partial<BuildOptions>; output?: RegExp };

/** One step before is complete; the step on line 3 fails. */
const FAILING: Record<string, Failing> = {
  'that ends with another code than 0': {
    steps: 'RUN echo some; echo more >&2; exit 3',
    says: /it ended with exit code 3/,
    output: /some[\s\S]*more|more[\s\S]*some/,
  },
  'that names no program': { steps: 'RUN ["/no/such"]', says: /exit code 127/ },
  'that is killed': { steps: 'RUN kill -9 $$', says: /killed by signal 9/ },
  'that hangs': {
    steps: 'RUN echo begun; sleep 1000 & sleep 1000',
    options: { timeoutMs: 3000 },
    says: /did not end within the build's time of 3 s/,
    output: /begun/,
  },
  'that waits for input gets none': { steps: 'RUN cat && exit 4', says: /exit code 4/ },
  'that fills the disk': {
    steps: 'RUN dd if=/dev/zero of=/big bs=1M count=200',
    options: { limits: { diskMiB: 32 } },
    says: /its disk was full \(diskMiB 32\)/,
  },
  'that forks for ever': {
    steps: 'RUN bomb() { bomb | bomb & }; bomb; sleep 5; true || exit 1; exit 9',
    options: { limits: { pids: 30 }, timeoutMs: 20_000 },
    says: /no more processes \(pids 30\)/,
  },
  'that takes all memory': {
    steps: 'RUN x=aaaaaaaa; while :; do x=$x$x; done',
    options: { limits: { memoryMiB: 48 } },
    says: /ran out of memory \(memoryMiB 48\)/,
  },
  'that copies more than the disk holds': {
    steps: 'COPY big /',
    options: { limits: { diskMiB: 16 } },
    says: /its disk was full \(diskMiB 16\)/,
  },
  'for an account that is not there': { steps: 'COPY --chown=nobody x /', says: /has no "nobody"/ },
  'as a user that is not there': { steps: 'USER nobody\nRUN true', says: /nobody/ },
};

describe('a step of a build', { concurrency: false }, () => {
  let build: BuildNode;
  before(async () => {
    build = await startBuildNode();
  });
  after(() => build.close());
  afterEach(async () => {
    const { sandboxes, temporary } = await build.leftovers();
    assert.deepEqual({ sandboxes, temporary }, { sandboxes: 0, temporary: [] });
  });

  for (const [name, { steps, says, options, output }] of Object.entries(FAILING)) {
    test(`${name} fails with words, line and output, and nothing of it is left`, async () => {
      const directory = build.context(`RUN true\n${steps}`, {
        x: 'x',
        big: name.includes('disk holds') ? 'x'.repeat(40 << 20) : '',
      });
      await assert.rejects(build.build(directory, options), (thrown: VivError) => {
        assert.match(thrown.message, says);
        assert.match(thrown.message, /^Dockerfile:[34]: /);
        assert.deepEqual([thrown.code, thrown.fault], ['build_failed', 'task']);
        if (output) assert.match(String(thrown.details.output), output);
        return true;
      });
    });
  }

  test('a client that leaves ends its build', async () => {
    const abort = new AbortController();
    const building = build.build(build.context('RUN sleep 1000'), { signal: abort.signal, onProgress: () => {} });
    const left = assert.rejects(building);
    for (let live = 0; live === 0; live = (await build.leftovers()).sandboxes) await delay(50);
    abort.abort(new Error('enough'));
    await left;
    for (let live = 1; live > 0; live = (await build.leftovers()).sandboxes) await delay(50);
  });

  test('a node that is killed in mid-build leaves nothing of it, and builds it then', async () => {
    const directory = build.context('RUN echo one > /one\nRUN test -e /two || sleep 5; echo two > /two');
    const building = build.build(directory);
    const lost = assert.rejects(building);
    for (let live = 0; live === 0; live = (await build.leftovers()).sandboxes) await delay(50);
    await build.node.kill9();
    await lost;
    await build.node.start();
    const { sandboxes, temporary } = await build.leftovers();
    assert.deepEqual({ sandboxes, temporary }, { sandboxes: 0, temporary: [] });
    await build.build(directory);
  });

  test('a cached step whose layer is damaged is made again', async () => {
    const { node } = build;
    const directory = build.context('RUN seq 100000 > /numbers');
    const { image } = await build.build(directory);
    const file = join(node.paths.stateDir, 'layers', `${image.layers[1]!.digest.slice('sha256:'.length)}.erofs`);
    await node.viv.images.remove(image.name);
    await node.stop();
    chmodSync(file, 0o600);
    writeFileSync(file, 'damaged', { flag: 'r+' });
    await node.start();
    const again = await build.build(directory);
    await using sandbox = await node.viv.sandboxes.create({ image: again.image.name });
    assert.equal((await sandbox.exec('head -n 1 /numbers')).stdout, '1\n');
  });

  test('the command line shows the output, the line and the reason', () => {
    const directory = build.context('RUN echo told; exit 7');
    const { code, stderr } = runViv(build.node, ['image', 'build', directory, '-t', 'cli/a@1']);
    assert.equal(code, 6, stderr);
    assert.match(stderr, /told\n[\s\S]*Dockerfile:2: RUN echo told; exit 7: it ended with exit code 7/);
  });

  test('the command line refuses what can’t be meant', () => {
    const directory = build.context('RUN true');
    const refused = (args: string[], says: RegExp) => {
      const { code, stderr } = runViv(build.node, ['image', 'build', ...args]);
      assert.match(stderr, says);
      assert.equal(code, 2, stderr);
    };
    refused([directory], /name the image/);
    refused([directory, '-t', 'a/b@1', '-t', 'a/c@1'], /one name/);
    refused([directory, '-t', 'a/b'], /name@version/);
    refused([directory, '-t', 'a/b@1', '-f', '/nowhere/Dockerfile'], /no Dockerfile/);
    refused([`${directory}-not`, '-t', 'a/b@1'], /no directory/);
    refused([directory, '-t', 'a/b@1', '--target', 'x'], /no stage "x"/);
    refused([directory, '-t', 'a/b@1', '--network', 'bridge'], /network/);
    refused([build.context('COPPY a b'), '-t', 'a/b@1'], /Dockerfile:2: unknown instruction COPPY[\s\S]*COPY/);
    assert.match(
      runViv(build.node, ['image', 'build', build.context('FROM python:3'), '-t', 'a/b@1']).stderr,
      /--map python:3=IMAGE/,
    );
  });
});
