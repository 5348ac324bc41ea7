import { setTimeout as sleep } from 'node:timers/promises';
import { waitNow } from '../../native/process.ts';

/** A killed process whose group is empty already has only a moment to go. */
const TRIES_MAX = 100;

/** Children of ours by the id of their cell. Those of a former spawner are the host's init's. */
const inits = new Map<string, number>();

/**
 * Runs in the spawner, whose child a PID 1 is that viv-start made: a dead one counts against the pids limit of its cell
 * until somebody has waited for it, and the init of a host may take seconds to, or never do it.
 */
export function rememberInit(id: string, pid: number): void {
  inits.set(id, pid);
}

/** Waits for a PID 1 that was killed, if it is ours. */
export async function reapInit(id: string): Promise<void> {
  const pid = inits.get(id);
  if (pid === undefined) return;
  inits.delete(id);
  for (let tries = 0; tries < TRIES_MAX && !isReaped(pid); tries++) await sleep(1);
}

function isReaped(pid: number): boolean {
  try {
    return waitNow(pid) !== undefined;
  } catch {
    return true;
  }
}
