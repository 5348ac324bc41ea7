import { readFileSync } from 'node:fs';
import type { Pressure } from '@vivarium/protocol';
import { memoryBytes } from '../lifecycle/room.ts';

/** Percentages are over at least this long. */
const WINDOW_MS = 1000;
/** USER_HZ: what /proc counts in, on every architecture of ours. */
const MS_PER_TICK = 10;

type Cpu = { totalMs: number; busyMs: number; stealMs: number };
type Sample = Cpu & { atMs: number; cpus: number };

/** How hard the machine works, from /proc/stat, /proc/loadavg and /proc/pressure. */
export class PressureGauge {
  readonly #now: () => number;
  /** Two earlier readings: the newer one becomes the reference when it is old enough. */
  #reference: Sample;
  #next: Sample;

  constructor(monotonicMs: () => number) {
    this.#now = monotonicMs;
    this.#reference = this.#next = this.#sample();
  }

  read(): Pressure {
    const sample = this.#sample();
    if (sample.atMs - this.#next.atMs >= WINDOW_MS) {
      this.#reference = this.#next;
      this.#next = sample;
    }
    const { totalMs, busyMs, stealMs, cpus } = sample;
    const spanMs = totalMs - this.#reference.totalMs;
    const part = (ms: number) => (spanMs > 0 ? Math.round((1000 * ms) / spanMs) / 10 : 0);
    return {
      cpus,
      loadAvg: loadAverages(read('/proc/loadavg')),
      cpuTotalMs: totalMs,
      cpuBusyMs: busyMs,
      cpuStealMs: stealMs,
      cpuBusyPct: part(busyMs - this.#reference.busyMs),
      stealPct: part(stealMs - this.#reference.stealMs),
      memAvailableBytes: memoryBytes('MemAvailable'),
      memTotalBytes: memoryBytes('MemTotal'),
      psi: readPsi(),
    };
  }

  #sample(): Sample {
    const text = read('/proc/stat');
    return { atMs: this.#now(), cpus: text.match(/^cpu\d+ /gm)?.length ?? 1, ...parseCpu(text) };
  }
}

/** The first line of proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; the guest times after them are in the first two. */
export function parseCpu(text: string): Cpu {
  const line = /^cpu +(.*)$/m.exec(text)?.[1] ?? '';
  const ticks = line.split(' ').map(Number);
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0] = ticks;
  const busy = user + nice + system + irq + softirq + steal;
  return { totalMs: (busy + idle + iowait) * MS_PER_TICK, busyMs: busy * MS_PER_TICK, stealMs: steal * MS_PER_TICK };
}

/** The `avg10` of a line of /proc/pressure (Documentation/accounting/psi.rst), or null. */
export function parsePsi(text: string, line: 'some' | 'full'): number | null {
  const value = new RegExp(`^${line} avg10=([\\d.]+)`, 'm').exec(text)?.[1];
  return value === undefined ? null : Number(value);
}

function readPsi(): Pressure['psi'] {
  const cpuSome10 = parsePsi(read('/proc/pressure/cpu'), 'some');
  if (cpuSome10 === null) return null;
  const memory = read('/proc/pressure/memory');
  return {
    cpuSome10,
    memorySome10: parsePsi(memory, 'some') ?? 0,
    memoryFull10: parsePsi(memory, 'full') ?? 0,
    ioSome10: parsePsi(read('/proc/pressure/io'), 'some') ?? 0,
  };
}

function loadAverages(text: string): [number, number, number] {
  const [one = 0, five = 0, fifteen = 0] = text.split(' ').slice(0, 3).map(Number);
  return [one, five, fifteen];
}

/** Empty when this kernel has no such file. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
