import { readFileSync } from 'node:fs';
import type { Limits } from '@vivarium/protocol';
import type { GuestConfig } from '../driver.ts';
import { keptCapabilityMask } from './capability-set.ts';
import { seccompProgram } from './seccomp/program.ts';

const RLIMIT_NOFILE = 7;

/** What PID 1 does to itself, for good, before it takes the first command. */
export function guestConfig(limits: Limits, env: Record<string, string>): GuestConfig {
  const nofile = BigInt(Math.min(limits.nofile, nofileHardLimit()));
  return {
    seccomp: seccompProgram(),
    capKeep: keptCapabilityMask(),
    unshareCgroup: true,
    env,
    rlimits: [{ resource: RLIMIT_NOFILE, soft: nofile, hard: nofile }],
  };
}

let hardLimit: number | undefined;

/** Nothing can be raised above our own hard limit. */
function nofileHardLimit(): number {
  hardLimit ??= Number(/^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1] ?? 1024);
  return hardLimit;
}
