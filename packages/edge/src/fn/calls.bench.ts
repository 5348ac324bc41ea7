/**
 * What calls cost at the edge, without HTTP, on a node of its own with a small image: `calls.bench.ts [CALLS AT_ONCE]`. Run by hand as
 * root.
 */
import { Limits } from '@vivarium/protocol';
import pino from 'pino';
import { inMountNamespace, openTestNode } from '../drivers/container/test-node.ts';
import { FnDriver } from '../drivers/fn/driver.ts';
import type { FnCall } from '../edge.ts';
import { FakeImages } from '../fakes/fake-images.ts';
import { openEdge } from '../open-edge.ts';

const [calls = '300', atOnce = '16'] = process.argv.slice(2);
const owner = { keyId: 'k', maxSandboxes: null };
const call: FnCall = {
  image: 'base/test@1',
  limits: Limits.parse({}),
  files: [],
  run: { argv: ['true'], timeoutMs: 10_000 },
  env: {},
  cwd: '/tmp/fn',
  filesOut: [],
  filesOutBytesMax: 0,
  filesOutMax: 0,
  keepBytes: 1024,
};

if (inMountNamespace(import.meta.filename, process.argv.slice(2))) {
  const node = await openTestNode();
  const images = new FakeImages(node.layers);
  const log = pino({ level: 'warn' });
  const edge = await openEdge({
    stateDir: node.stateDir,
    drivers: [node.driver, new FnDriver(node.driver)],
    images,
    log,
  });
  try {
    await edge.fn.warm({ image: call.image, limits: call.limits, count: 2 }, owner);
    const times: number[] = [];
    const parts: Record<string, number> = {};
    for (let left = 60; left > 0; left--) {
      const began = performance.now();
      const { durations } = await edge.fn.run(call, owner);
      times.push(performance.now() - began);
      for (const [name, ms] of Object.entries(durations)) parts[name] = (parts[name] ?? 0) + ms / 60;
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
    times.sort((a, b) => a - b);
    console.log(`one at a time: p50 ${times[30]!.toFixed(1)} p90 ${times[54]!.toFixed(1)} ms`, parts);
    await edge.fn.warm({ image: call.image, limits: call.limits, count: Number(atOnce) }, owner);
    await crowd(Number(calls));
    await crowd(Number(calls));
    console.log(edge.fn.pools()[0]);
  } finally {
    await edge.endAll();
    await edge.close();
    await node.close();
  }

  async function crowd(total: number): Promise<void> {
    const began = performance.now();
    const cpu = process.cpuUsage();
    let left = total;
    const worker = async () => {
      while (left-- > 0) {
        const { run } = await edge.fn.run(call, owner);
        if (run?.exitCode !== 0) throw new Error(`exit ${run?.exitCode} ${run?.message}`);
      }
    };
    await Promise.all(Array.from({ length: Number(atOnce) }, worker));
    const { user, system } = process.cpuUsage(cpu);
    const rate = (total / (performance.now() - began)) * 1000;
    console.log(
      `${atOnce} at a time: ${rate.toFixed(0)}/s, CPU of this process ${((user + system) / 1000 / total).toFixed(1)} ms each`,
    );
  }
}
