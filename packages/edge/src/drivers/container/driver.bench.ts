/**
 * The driver's own costs, on a node of its own with a small image. Run by hand:
 *
 *   driver.bench.ts churn CELLS AT_ONCE     create, connect, destroy
 *   driver.bench.ts renew CELLS AT_ONCE     renew used cells, and connect; AT_ONCE cells in all
 *   driver.bench.ts beside CELLS AT_ONCE    churn alone, beside that many live cells, and alone again
 *   driver.bench.ts live CELLS AT_ONCE      create many, then destroy them; costs per 500
 */
import { readFileSync } from 'node:fs';
import type { CellHandle, CellSpec } from '../driver.ts';
import { inMountNamespace, openTestNode, type TestNode } from './test-node.ts';

const [mode = 'churn', cells = '200', atOnce = '8'] = process.argv.slice(2);
const STEP = 500;
const TICK_MS = 10;

if (inMountNamespace(import.meta.filename, process.argv.slice(2))) {
  const node = await openTestNode();
  try {
    if (mode === 'churn') await churn(node, Number(cells), Number(atOnce));
    else if (mode === 'renew') await renew(node, Number(cells), Number(atOnce));
    else if (mode === 'beside') await beside(node, Number(cells), Number(atOnce));
    else await live(node, Number(cells), Number(atOnce));
  } finally {
    await node.close();
  }
}

async function churn(node: TestNode, total: number, parallel: number): Promise<void> {
  const times: Record<'start' | 'connect' | 'destroy', number[]> = { start: [], connect: [], destroy: [] };
  const cost = await measure(node, total, () =>
    pool(total, parallel, async (index) => {
      const cell = await timed(times.start, () => start(node, index));
      const socket = await timed(times.connect, () => cell.connect());
      socket.destroy();
      await timed(times.destroy, () => cell.destroy());
    }),
  );
  console.log(
    Object.entries(times)
      .map(([name, list]) => `${name} ${quantiles(list)}`)
      .join(' · '),
  );
  console.log(cost);
}

async function renew(node: TestNode, total: number, parallel: number): Promise<void> {
  const live: CellHandle[] = [];
  await pool(parallel, parallel, async (index) => live.push(await node.driver.start(spec(node, index))));
  const times: Record<'renew' | 'connect', number[]> = { renew: [], connect: [] };
  const cost = await measure(node, total, () =>
    pool(total, parallel, async (index) => {
      const used = live.shift()!;
      const cell = await timed(times.renew, () =>
        node.driver.renew(used, { ...spec(node, index), id: used.record.id }),
      );
      const socket = await timed(times.connect, () => cell.connect());
      socket.destroy();
      live.push(cell);
    }),
  );
  console.log(`renew ${quantiles(times.renew)} · connect ${quantiles(times.connect)}\n${cost}`);
  await pool(parallel, parallel, (index) => live[index]!.destroy());
}

async function beside(node: TestNode, total: number, parallel: number): Promise<void> {
  await churn(node, STEP, parallel);
  const idle: CellHandle[] = [];
  await pool(total, parallel, async (index) => idle.push(await start(node, STEP + index)));
  await churn(node, STEP, parallel);
  await pool(total, parallel, (index) => idle[index]!.destroy());
  await churn(node, STEP, parallel);
}

async function live(node: TestNode, total: number, parallel: number): Promise<void> {
  const all: CellHandle[] = [];
  for (let from = 0; from < total; from += STEP) {
    const before = available();
    const times: number[] = [];
    const cost = await measure(node, STEP, () =>
      pool(STEP, parallel, async (index) => {
        all.push(await timed(times, () => start(node, from + index)));
      }),
    );
    const kib = Math.round((before - available()) / STEP);
    console.log(`${from + STEP} live: start ${quantiles(times)}, ${kib} KiB each; ${cost}`);
  }
  const cost = await measure(node, total, () => pool(total, parallel, (index) => all[index]!.destroy()));
  console.log(`destroy: ${cost}`);
}

function start(node: TestNode, index: number): Promise<CellHandle> {
  return node.driver.start(spec(node, index));
}

function spec(node: TestNode, index: number): CellSpec {
  return {
    id: `b${process.pid}x${index}`,
    hostname: 'box',
    layers: node.layers,
    limits: { cpuWeight: 100, cpus: 2, memoryMiB: 256, pids: 64, diskMiB: 100, nofile: 1024, ptys: 8 },
    env: {},
    quick: process.env.QUICK === '1',
  };
}

/** CPU time per cell of this process (the server's share), of the spawner, and of crun with the cells. */
async function measure(node: TestNode, count: number, job: () => Promise<void>): Promise<string> {
  const read = () => ({ at: performance.now(), server: serverMs(), spawner: spawnerMs(node), cells: cellsMs(node) });
  const before = read();
  await job();
  const after = read();
  const each = (key: 'server' | 'spawner' | 'cells') => (after[key] - before[key]) / count;
  const rate = (count / (after.at - before.at)) * 1000;
  const parts = (['server', 'spawner', 'cells'] as const).map((key) => `${key} ${each(key).toFixed(1)}`);
  const sum = each('server') + each('spawner') + each('cells');
  return `${rate.toFixed(0)}/s, CPU ms each: ${parts.join(' + ')} = ${sum.toFixed(1)}`;
}

function serverMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function spawnerMs(node: TestNode): number {
  const stat = readFileSync(`/proc/${node.spawner.pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Time that was spent in groups counts for the groups above them, also after their end. */
function cellsMs(node: TestNode): number {
  const { hierarchy } = node.driver.place;
  if (hierarchy.version === 1) return Number(readFileSync(`${hierarchy.bases.cpuacct}/cpuacct.usage`, 'latin1')) / 1e6;
  return Number(/usage_usec (\d+)/.exec(readFileSync(`${hierarchy.base}/cpu.stat`, 'latin1'))?.[1]) / 1e3;
}

async function pool(total: number, parallel: number, job: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < total) await job(next++);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}

async function timed<T>(times: number[], job: () => Promise<T>): Promise<T> {
  const before = performance.now();
  const result = await job();
  times.push(performance.now() - before);
  return result;
}

function quantiles(times: number[]): string {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(1);
  return `p50 ${at(0.5)} p99 ${at(0.99)} ms`;
}

/** MemAvailable in KiB. */
function available(): number {
  return Number(/MemAvailable:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'latin1'))?.[1]);
}
