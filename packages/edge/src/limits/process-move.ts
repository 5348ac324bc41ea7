import { promises as files, readFileSync } from 'node:fs';
import { type CellGroup, listProcs, write } from './cell-group.ts';

/**
 * Moving another process waits for an RCU grace period (some 6 ms) when nothing was moved for a while, and takes 50 µs
 * otherwise. So the first of a burst goes by the thread pool, the others are done on the spot.
 */
const WARM_MS = 10;
let lastMove = 0;

/** Moves a process into a group. One that has ended meanwhile is fine. */
export async function moveProcess(dir: string, pid: number): Promise<void> {
  try {
    if (performance.now() - lastMove < WARM_MS) write(`${dir}/cgroup.procs`, `${pid}`);
    else await files.writeFile(`${dir}/cgroup.procs`, `${pid}`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  lastMove = performance.now();
}

/**
 * The host's pid of a process of the cell that PID 1 knows as `guestPid`. It waits in the cell's own group, where there
 * are few beside PID 1: the newest are looked at first. Undefined when it has ended.
 */
export function findByGuestPid(cell: CellGroup, initPid: number, guestPid: number): number | undefined {
  const pids = listProcs(cell.processDir);
  for (let index = pids.length - 1; index >= 0; index--) {
    const pid = pids[index]!;
    if (pid !== initPid && guestPidOf(pid) === guestPid) return pid;
  }
  return undefined;
}

/** The last number of the line `NSpid:` is the pid in the innermost namespace (proc_pid_status(5)). */
function guestPidOf(pid: number): number | undefined {
  try {
    const [, ids] = /^NSpid:\t(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return ids === undefined ? undefined : Number(ids.slice(ids.lastIndexOf('\t') + 1));
  } catch {
    return undefined;
  }
}

/** kill(2) of a process that may have ended. */
export function signalQuietly(pid: number, signal: number): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
