import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const WAIT_MS_MAX = 20;

/**
 * Processes that were sent SIGKILL. A control group stops listing a process when its exit begins (css_task_iter skips leaders without live
 * threads), while its memory and open files go later: who wants to say "it is gone" has to look at the process itself.
 */
export class DyingProcesses {
  /** Start time (clock ticks since boot) by pid: together they name one process. */
  readonly #startTimes = new Map<number, string>();

  /** To be called before the signal. */
  add(pid: number): void {
    const now = readStat(pid);
    if (now) this.#startTimes.set(pid, now.startTime);
  }

  /** Resolves when none of them holds anything any more (it may be a zombie that its parent has to reap), or at the deadline (ms since the epoch). */
  async gone(deadline: number): Promise<void> {
    for (const [pid, startTime] of this.#startTimes) {
      for (let waitMs = 1; holdsSomething(pid, startTime); waitMs = Math.min(waitMs * 2, WAIT_MS_MAX)) {
        if (Date.now() > deadline) return;
        await sleep(waitMs);
      }
    }
  }
}

function holdsSomething(pid: number, startTime: string): boolean {
  const now = readStat(pid);
  return now !== undefined && now.startTime === startTime && now.state !== 'Z' && now.state !== 'X';
}

/** proc_pid_stat(5): field 3 is the state, field 22 the start time; the name in parentheses before them may hold anything. */
function readStat(pid: number): { state: string; startTime: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0]!, startTime: fields[19]! };
  } catch {
    return undefined;
  }
}
