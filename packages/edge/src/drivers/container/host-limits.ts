import { readFileSync, writeFileSync } from 'node:fs';
import { INOTIFY_INSTANCES, INOTIFY_WATCHES } from './guest-config.ts';
import { SLOTS_MAX } from './id-range.ts';

/** What the kernel gives to a whole machine by default. */
const AIO_EVENTS = 65_536;
const OPEN_FILES = 1_048_576;

/**
 * Limits of the whole machine that its sandboxes share, and that are made for one user. Each sandbox has a limit of its
 * own (inotify by its user namespace, terminals by its devpts, processes by its control group), so the machine's may be
 * high. Processes and threads: the most process ids that 64-bit Linux has, as systemd sets it. Open files and events of
 * asynchronous I/O: what they take is charged to the memory of the sandbox.
 */
const LIMITS: Record<string, number> = {
  'fs/aio-max-nr': SLOTS_MAX * AIO_EVENTS,
  'fs/file-max': SLOTS_MAX * OPEN_FILES,
  'fs/inotify/max_user_instances': SLOTS_MAX * INOTIFY_INSTANCES,
  'fs/inotify/max_user_watches': SLOTS_MAX * INOTIFY_WATCHES,
  'kernel/pty/max': 1_048_576,
  'kernel/pid_max': 4_194_304,
  'kernel/threads-max': 4_194_304,
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
