import type { Pressure } from '@vivarium/protocol/node.ts';
import type { Limits, Stats } from '@vivarium/protocol/sandbox.ts';

const MIB = 1_048_576;

/**
 * Beyond these the machine, not the work, may have decided how it went. A sandbox that its own limits slowed down is not suspect: every
 * repetition would be slowed down the same.
 */
export const SUSPECT = {
  /** Per cent of the machine's CPU time that its own host took, over the run. */
  stealPct: 10,
  /** Processes that wanted a CPU, per CPU, averaged over the last minute, at the end. */
  loadPerCpu: 8,
  /** Per cent of the machine's memory that was still to be had, at either end. */
  memAvailablePct: 5,
  /** Per cent of the last 10 s in which all waited for memory, and in which something waited for disks. */
  psiMemoryFull10: 10,
  psiIoSome10: 60,
} as const;

/** How the machine treated one run. */
export type Treatment = {
  cpuUsedMs: number;
  /** Used, and waited for because of its own limit. */
  cpuWantedMs: number;
  cpuThrottledMs: number;
  /** Of what it wanted. */
  throttledPct: number;
  memoryPeakMiB: number;
  /** What was left below its limit at the peak. */
  memoryHeadroomPct: number;
  oomKills: number;
  diskMiB: number;
  /** Over the run. */
  hostCpuBusyPct: number;
  hostStealPct: number;
  /** At the end. */
  hostLoadPerCpu: number;
  /** The lower of both ends. */
  hostMemAvailableMiB: number;
  hostPsi: Pressure['psi'];
  suspect: boolean;
  /** Which thresholds were passed, in words. */
  reasons: string[];
};

/** From the machine's pressure before and after a run, and the sandbox's own counts at its end. Pure. */
export function treatment(
  before: Pressure,
  after: Pressure,
  stats: Stats,
  limits: Pick<Limits, 'memoryMiB'>,
): Treatment {
  const totalMs = after.cpuTotalMs - before.cpuTotalMs;
  const part = (from: number, to: number) => (totalMs > 0 ? percent(to - from, totalMs) : 0);
  const available = Math.min(before.memAvailableBytes, after.memAvailableBytes);
  const facts = {
    cpuUsedMs: Math.round(stats.cpuUsageUs / 1000),
    cpuWantedMs: Math.round(stats.cpuWantedUs / 1000),
    cpuThrottledMs: Math.round(stats.cpuThrottledUs / 1000),
    throttledPct: stats.cpuWantedUs > 0 ? percent(stats.cpuThrottledUs, stats.cpuWantedUs) : 0,
    memoryPeakMiB: tenths(stats.memoryPeakBytes / MIB),
    memoryHeadroomPct: Math.max(0, percent(limits.memoryMiB * MIB - stats.memoryPeakBytes, limits.memoryMiB * MIB)),
    oomKills: stats.oomKills,
    diskMiB: tenths(stats.diskBytes / MIB),
    hostCpuBusyPct: part(before.cpuBusyMs, after.cpuBusyMs),
    hostStealPct: part(before.cpuStealMs, after.cpuStealMs),
    hostLoadPerCpu: tenths(after.loadAvg[0] / after.cpus),
    hostMemAvailableMiB: Math.round(available / MIB),
    hostPsi: after.psi,
  };
  const reasons = reasonsOf(facts, percent(available, after.memTotalBytes));
  return { ...facts, suspect: reasons.length > 0, reasons };
}

function reasonsOf(
  facts: Pick<Treatment, 'hostStealPct' | 'hostLoadPerCpu' | 'hostPsi'>,
  memAvailablePct: number,
): string[] {
  const { hostStealPct, hostLoadPerCpu, hostPsi } = facts;
  const passed: [boolean, string][] = [
    [hostStealPct >= SUSPECT.stealPct, `the machine lost ${hostStealPct} % of its CPU time to its own host`],
    [hostLoadPerCpu >= SUSPECT.loadPerCpu, `${hostLoadPerCpu} processes wanted each CPU`],
    [memAvailablePct < SUSPECT.memAvailablePct, `${memAvailablePct} % of the machine’s memory was left`],
    [
      (hostPsi?.memoryFull10 ?? 0) >= SUSPECT.psiMemoryFull10,
      `everything waited for memory ${hostPsi?.memoryFull10} % of the time`,
    ],
    [(hostPsi?.ioSome10 ?? 0) >= SUSPECT.psiIoSome10, `something waited for disks ${hostPsi?.ioSome10} % of the time`],
  ];
  return passed.flatMap(([is, reason]) => (is ? [reason] : []));
}

function percent(part: number, whole: number): number {
  return tenths((100 * part) / whole);
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
