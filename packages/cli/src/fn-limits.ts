import type { FnOptions } from '@vivarium/sdk';
import type { Command } from 'commander';
import { parseCount, parseMiB, parseNumber } from './units.ts';

export type FnLimitFlags = { memory?: number; cpus?: number; disk?: number; pids?: number };

/** Containers with the same limits share a pool. */
export function addFnLimits(command: Command): void {
  command
    .optionsGroup('Limits:')
    .option('--memory <size>', 'memory (default 1g)', parseMiB)
    .option('--cpus <n>', 'CPUs (default 2)', parseNumber)
    .option('--disk <size>', 'disk (default 4g)', parseMiB)
    .option('--pids <n>', 'processes and threads (default 512)', parseCount)
    .optionsGroup('Options:');
}

export function fnLimits({ memory, cpus, disk, pids }: FnLimitFlags): Pick<FnOptions, 'limits'> {
  const limits = {
    ...(memory !== undefined && { memoryMiB: memory }),
    ...(cpus !== undefined && { cpus }),
    ...(disk !== undefined && { diskMiB: disk }),
    ...(pids !== undefined && { pids }),
  };
  return Object.keys(limits).length > 0 ? { limits } : {};
}
