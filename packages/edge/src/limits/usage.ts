import { closeSync, openSync, readSync } from 'node:fs';
import type { Limits } from '@vivarium/protocol';
import type { Counters, Usage } from '../drivers/driver.ts';
import type { CellGroup } from './cell-group.ts';
import { parseKeyed } from './convert.ts';
import type { Controller } from './hierarchy.ts';

const MIB = 1024 * 1024;

/**
 * What a cell has used, from its control groups and from `qgroup`, the directory with the kernel's count of
 * its subvolume's bytes: those on disk and those that are still to be written.
 */
export function readUsage(group: CellGroup, limits: Limits, qgroup: string): Usage {
  const used = group.version === 1 ? usageV1(group) : usageV2(group);
  return {
    ...used,
    memoryLimitBytes: limits.memoryMiB * MIB,
    pidsLimit: limits.pids,
    diskBytes: number(`${qgroup}/referenced`) + number(`${qgroup}/rsv_data`),
    diskLimitBytes: limits.diskMiB * MIB,
  };
}

/** What the cell's commands have hit so far: three small control files. */
export function readCounters(group: CellGroup): Counters {
  const v1 = group.version === 1;
  const file = (controller: Controller, name: string) => `${group.dir(controller)}/${name}`;
  const cpu = keyed(file('cpu', 'cpu.stat'));
  return {
    oomKills: keyed(file('memory', v1 ? 'memory.oom_control' : 'memory.events')).get('oom_kill') ?? 0,
    pidsDenied: keyed(file('pids', 'pids.events')).get('max') ?? 0,
    throttledUs: v1 ? Math.round((cpu.get('throttled_time') ?? 0) / 1000) : (cpu.get('throttled_usec') ?? 0),
  };
}

type Measured = Omit<Usage, 'memoryLimitBytes' | 'pidsLimit' | 'diskBytes' | 'diskLimitBytes'>;

function usageV1(group: CellGroup): Measured {
  const file = (controller: Controller, name: string) => `${group.dir(controller)}/${name}`;
  const { oomKills, pidsDenied, throttledUs } = readCounters(group);
  return {
    cpuUsageUs: Math.round(number(file('cpuacct', 'cpuacct.usage')) / 1000),
    cpuThrottledUs: throttledUs,
    memoryBytes: number(file('memory', 'memory.usage_in_bytes')),
    memoryPeakBytes: number(file('memory', 'memory.max_usage_in_bytes')),
    memoryCacheBytes: entry(file('memory', 'memory.stat'), 'total_cache'),
    oomKills,
    pids: number(file('pids', 'pids.current')),
    pidsDenied,
  };
}

function usageV2(group: CellGroup): Measured {
  const dir = group.dirs[0]!;
  const cpu = keyed(`${dir}/cpu.stat`);
  const memory = number(`${dir}/memory.current`);
  const { oomKills, pidsDenied, throttledUs } = readCounters(group);
  return {
    cpuUsageUs: cpu.get('usage_usec') ?? 0,
    cpuThrottledUs: throttledUs,
    memoryBytes: memory,
    // memory.peak came with Linux 5.19.
    memoryPeakBytes: Math.max(memory, number(`${dir}/memory.peak`)),
    memoryCacheBytes: entry(`${dir}/memory.stat`, 'file'),
    oomKills,
    pids: number(`${dir}/pids.current`),
    pidsDenied,
  };
}

function keyed(path: string): Map<string, number> {
  return parseKeyed(text(path));
}

function number(path: string): number {
  return Number(text(path).trim()) || 0;
}

/** One of many lines, without making a table of them all. */
function entry(path: string, name: string): number {
  const lines = `\n${text(path)}`;
  const at = lines.indexOf(`\n${name} `);
  return at < 0 ? 0 : Number.parseInt(lines.slice(at + name.length + 2, at + name.length + 24), 10) || 0;
}

/** The longest, memory.stat, has some 2 KiB. */
const buffer = Buffer.alloc(16_384);

/**
 * A control file that this kernel lacks, or that is gone with the cell, counts as nothing. The kernel gives a file whole at the first read;
 * asking for its size and its end, as readFile does, takes as long again.
 */
function text(path: string): string {
  try {
    const fd = openSync(path, 'r');
    try {
      return buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, 0));
    } finally {
      closeSync(fd);
    }
  } catch {
    return '';
  }
}
