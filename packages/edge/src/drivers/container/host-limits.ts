import { readFileSync, writeFileSync } from 'node:fs';
import { INOTIFY_INSTANCES, INOTIFY_WATCHES } from './guest-config.ts';
import { SLOTS_MAX } from './id-range.ts';

/**
 * Limits of the whole machine that its sandboxes share, and that are made for one user. Each sandbox has a limit of its
 * own (inotify by its user namespace, terminals by its devpts, processes by its control group), so the machine's may be
 * high. Processes: the most that 64-bit Linux has, as systemd sets it.
 */
const LIMITS: Record<string, number> = {
  'fs/inotify/max_user_instances': SLOTS_MAX * INOTIFY_INSTANCES,
  'fs/inotify/max_user_watches': SLOTS_MAX * INOTIFY_WATCHES,
  'kernel/pty/max': 1_048_576,
  'kernel/pid_max': 4_194_304,
};

/** Raises what is lower, and lowers nothing. Where we may not, sandboxes meet the machine's limits earlier. */
export function raiseHostLimits(root = '/proc/sys'): void {
  for (const [name, value] of Object.entries(LIMITS)) {
    const file = `${root}/${name}`;
    try {
      if (Number(readFileSync(file, 'latin1')) < value) writeFileSync(file, `${value}`);
    } catch {
      // This kernel has no such limit, or /proc/sys is read-only here.
    }
  }
}
