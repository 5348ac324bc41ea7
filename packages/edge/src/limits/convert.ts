import { cpus as listCpus } from 'node:os';

/** Period of the CPU quota, the kernel's default. */
export const CPU_PERIOD_US = 100_000;
/** The kernel takes no quota below 1 ms. */
const CPU_QUOTA_MIN_US = 1_000;
/** The largest cpu.weight of v2. */
export const CPU_WEIGHT_MAX = 10_000;

/** cpu.weight (1-10,000, default 100) as v1 cpu.shares (2-262,144, default 1,024): 100 becomes 1,024, in proportion. */
export function weightToShares(weight: number): number {
  return Math.min(262_144, Math.max(2, Math.round((weight * 1024) / 100)));
}

/** CPUs as microseconds of quota per period. */
export function cpusToQuotaUs(cpus: number): number {
  return Math.max(CPU_QUOTA_MIN_US, Math.round(cpus * CPU_PERIOD_US));
}

/**
 * Can a quota of that many CPUs ever bind on a machine of `machineCpus`? Each write of one makes the scheduler walk all groups of
 * the machine (tg_set_cfs_bandwidth in kernel/sched/core.c): milliseconds when thousands of cells live.
 */
export function isCpuQuotaNeeded(cpus: number, machineCpus = cpuCount()): boolean {
  return cpus < machineCpus;
}

/** `key value` lines, as in memory.stat, cpu.stat, pids.events. */
export function parseKeyed(text: string): Map<string, number> {
  const values = new Map<string, number>();
  for (const line of text.split('\n')) {
    const space = line.lastIndexOf(' ');
    if (space > 0) values.set(line.slice(0, space), Number(line.slice(space + 1)));
  }
  return values;
}

let count: number | undefined;

/** CPUs that are online; read once, for it costs a look into /proc. */
function cpuCount(): number {
  count ??= listCpus().length;
  return count;
}
