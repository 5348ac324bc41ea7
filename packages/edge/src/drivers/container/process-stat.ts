import { readFileSync } from 'node:fs';

/**
 * Start time of a process in clock ticks since boot: with the pid it names a process for good (proc_pid_stat(5), field
 * 22). Undefined when there is none, or only its zombie.
 */
export function processStartTime(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  // The command name, in parentheses, may hold anything; what follows does not.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const state = fields[0];
  return state === 'Z' || state === 'X' ? undefined : fields[19];
}

/** Does this very process live? */
export function isAlive(pid: number, startTime: string): boolean {
  return processStartTime(pid) === startTime;
}
