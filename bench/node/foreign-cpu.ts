import { readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';

/** Of the kernel's clock ticks that /proc tells (USER_HZ, proc_pid_stat(5)). */
const TICKS_PER_S = 100;
const KERNEL_THREADS = 2;

/**
 * CPU time of the programs that ran before the bench did and are none of it, such as a supervisor that watches the machine: what they take is missing
 * to node and client. To be made before anything is started. Kernel threads do not count as foreign: what they do is done for us.
 */
export class ForeignCpu {
  /** Start time by pid. */
  readonly #known = new Map<number, string>();

  constructor() {
    for (const name of readdirSync('/proc')) {
      const pid = Number(name);
      if (!Number.isInteger(pid) || pid === process.pid || pid === KERNEL_THREADS) continue;
      const stat = readStat(pid);
      if (stat && stat.ppid !== KERNEL_THREADS) this.#known.set(pid, stat.startTime);
    }
  }

  /** Seconds so far, of all of them that live. */
  seconds(): number {
    let ticks = 0;
    for (const [pid, startTime] of this.#known) {
      const stat = readStat(pid);
      if (stat?.startTime === startTime) ticks += stat.ticks;
    }
    return ticks / TICKS_PER_S;
  }

  /** CPUs of this machine. */
  static get cpus(): number {
    return cpus().length;
  }
}

function readStat(pid: number): { ppid: number; ticks: number; startTime: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { ppid: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]), startTime: fields[19]! };
  } catch {
    return undefined;
  }
}
