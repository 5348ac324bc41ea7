/**
 * What the edge costs by itself, without HTTP: run by hand as root. Prints a table. `node packages/edge/src/edge.bench.ts`
 */
import { ExecStart, SandboxCreate } from '@vivarium/protocol';
import pino from 'pino';
import { inMountNamespace, openTestNode } from './drivers/container/test-node.ts';
import { FakeImages } from './fakes/fake-images.ts';
import { openEdge } from './open-edge.ts';

const EXECS = 1000;
const CYCLES = Number(process.env.CYCLES ?? 500);
const AT_ONCE = 16;
const OUTPUT_BYTES = 1024 ** 3;

if (inMountNamespace(import.meta.filename)) {
  const node = await openTestNode();
  const images = new FakeImages(node.layers);
  const edge = await openEdge({
    stateDir: node.stateDir,
    drivers: [node.driver],
    images,
    log: pino({ level: 'warn' }),
  });
  const owner = { keyId: 'k', maxSandboxes: null };
  const create = () => edge.sandboxes.create(SandboxCreate.parse({ image: 'base/test@1' }), owner);
  const run = (id: string, command: string[]) => edge.execs.run(id, ExecStart.parse({ argv: command }));
  try {
    const { id } = await create();
    await report('exec of true', EXECS, async () => void (await run(id, ['true'])));
    await report('create, exec, kill, one at a time', 100, cycle);
    await churn();
    await output(id);
    await report('create, exec, kill, again', 50, cycle);
  } finally {
    await edge.endAll();
    await edge.close();
    await node.close();
  }

  async function cycle(): Promise<void> {
    const { id } = await create();
    const { exitCode } = await run(id, ['true']);
    if (exitCode !== 0) throw new Error(`exit ${exitCode}`);
    await edge.sandboxes.kill(id);
  }

  async function churn(): Promise<void> {
    const began = performance.now();
    const cpu = process.cpuUsage();
    let left = CYCLES;
    const worker = async () => {
      while (left-- > 0) await cycle();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    const s = (performance.now() - began) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    console.log(
      `churn, ${AT_ONCE} at a time: ${(CYCLES / s).toFixed(0)}/s, ${((user + system) / 1000 / CYCLES).toFixed(2)} ms CPU of this process each`,
    );
  }

  async function output(id: string): Promise<void> {
    const began = performance.now();
    let bytes = 0;
    const start = ExecStart.parse({ argv: ['head', '-c', `${OUTPUT_BYTES}`, '/dev/zero'] });
    const stream = await edge.execs.start(id, start, {
      stdin: false,
      onGap: () => {},
      onData: (_sub, _offset, chunk) => {
        bytes += chunk.length;
      },
    });
    await stream.done;
    const s = (performance.now() - began) / 1000;
    console.log(
      `stdout: ${(bytes / 1_048_576 / s).toFixed(0)} MiB/s, RSS ${(process.memoryUsage.rss() / 1_048_576).toFixed(0)} MiB`,
    );
  }
}

async function report(name: string, count: number, work: () => Promise<void>): Promise<void> {
  const times: number[] = [];
  const cpu = process.cpuUsage();
  for (let i = 0; i < count; i++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  const { user, system } = process.cpuUsage(cpu);
  times.sort((a, b) => a - b);
  const at = (q: number) => times[Math.floor(q * (count - 1))]!.toFixed(2);
  console.log(
    `${name}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ${((user + system) / 1000 / count).toFixed(2)} ms CPU of this process each`,
  );
}
