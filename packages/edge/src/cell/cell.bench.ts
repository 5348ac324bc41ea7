// Run by hand: node packages/edge/src/cell/cell.bench.ts. Needs guest/build (make -C guest). Prints one line of JSON.
import type { Cell } from './cell.ts';
import { Command } from './fixture/command.ts';
import { RealGuest } from './fixture/real-guest.ts';

const EXECS = 1000;
const OUTPUT_MIB = 1024;
const FILE_MIB = 512;
const IDLE_CELLS = 300;
const MIB = 1_048_576;

const guest = await RealGuest.start();
const cell = await guest.open();
const result = {
  ...(await execs(cell)),
  stdout_mib_s: await stdout(cell),
  ...(await files(cell)),
  idle_cell_kib: await idleCell(),
};
console.log(JSON.stringify(result));
cell.close();
await guest.stop();

/** One `true` after another: wall time, and CPU time of this process alone. */
async function execs(cell: Cell): Promise<Record<string, number>> {
  for (let i = 0; i < 200; i++) await (await Command.run(cell, { argv: ['/bin/true'] })).done;
  const times: number[] = [];
  const cpu = process.cpuUsage();
  for (let i = 0; i < EXECS; i++) {
    const from = performance.now();
    await (await Command.run(cell, { argv: ['/bin/true'] })).done;
    times.push(performance.now() - from);
  }
  const { user, system } = process.cpuUsage(cpu);
  times.sort((a, b) => a - b);
  return {
    exec_ms_p50: round(times[EXECS / 2] as number),
    exec_ms_p99: round(times[Math.floor(EXECS * 0.99)] as number),
    exec_client_cpu_ms: round((user + system) / 1000 / EXECS),
  };
}

async function stdout(cell: Cell): Promise<number> {
  const total = OUTPUT_MIB * MIB;
  let taken = 0;
  const from = performance.now();
  await new Promise<void>((resolve, reject) => {
    const handlers = {
      onData: (chan: 1 | 2, offset: number, chunk: Uint8Array) => {
        taken = offset + chunk.length;
        child.ack(chan, taken, taken + MIB);
      },
      onEof: () => resolve(),
      onExit: () => {},
      onFail: () => reject(new Error('it did not start')),
    };
    const argv = ['head', '-c', String(total), '/dev/zero'];
    let child: Awaited<ReturnType<Cell['spawn']>>;
    cell
      .spawn({ argv, env: {}, stdin: false, mergeStderr: true, tag: new Uint8Array(0), window: MIB, handlers })
      .then((spawned) => {
        child = spawned;
        return child.start();
      }, reject);
  });
  if (taken !== total) throw new Error(`${taken} bytes instead of ${total}`);
  return round(OUTPUT_MIB / ((performance.now() - from) / 1000));
}

async function files(cell: Cell): Promise<Record<string, number>> {
  const path = Buffer.from(`${guest.dir}/file`);
  const chunk = Buffer.alloc(65_536, 7);
  let from = performance.now();
  await cell.write(path, Array(FILE_MIB * 16).fill(chunk));
  const upload = FILE_MIB / ((performance.now() - from) / 1000);
  from = performance.now();
  const { stream } = await cell.read(path);
  for await (const _ of stream);
  return { upload_mib_s: round(upload), download_mib_s: round(FILE_MIB / ((performance.now() - from) / 1000)) };
}

/** Heap and buffers of an idle cell, its socket included. */
async function idleCell(): Promise<number> {
  const guests = await Promise.all(Array.from({ length: IDLE_CELLS }, () => RealGuest.start()));
  const before = used();
  const cells = await Promise.all(guests.map((one) => one.open()));
  for (const one of cells) await one.ping();
  const each = (used() - before) / IDLE_CELLS / 1024;
  for (const one of cells) one.close();
  await Promise.all(guests.map((one) => one.stop()));
  return round(each);
}

function used(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
