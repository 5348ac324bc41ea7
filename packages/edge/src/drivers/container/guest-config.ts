import { readFileSync } from 'node:fs';
import type { Limits } from '@vivarium/protocol';
import type { GuestConfig } from '../driver.ts';
import { keptCapabilityMask } from './capability-set.ts';
import { seccompProgram } from './seccomp/program.ts';

const RLIMIT_NOFILE = 7;
/**
 * inotify instances and watches of all user namespaces count against root's on the host (user_namespaces(7)): without a
 * limit for each, one sandbox could take those of all. These are what a Linux machine gives to one user.
 */
export const INOTIFY_INSTANCES = 128;
export const INOTIFY_WATCHES = 65_536;
const SYSCTLS = {
  'user.max_inotify_instances': `${INOTIFY_INSTANCES}`,
  'user.max_inotify_watches': `${INOTIFY_WATCHES}`,
};
/** Ports below 1,024 need no root where the network is the sandbox's own. */
const NETWORK_SYSCTLS = { 'net.ipv4.ip_unprivileged_port_start': '0' };

/** What PID 1 does to itself, for good, before it takes the first command. */
export function guestConfig(limits: Limits, env: Record<string, string>, network: 'none' | 'node'): GuestConfig {
  const nofile = BigInt(Math.min(limits.nofile, nofileHardLimit()));
  return {
    seccomp: seccompProgram(),
    capKeep: keptCapabilityMask(),
    unshareCgroup: true,
    sysctls: network === 'node' ? SYSCTLS : { ...SYSCTLS, ...NETWORK_SYSCTLS },
    readonlySysctls: true,
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
