import { setTimeout as sleep } from 'node:timers/promises';
import { VivError } from '@vivarium/protocol';
import { type CellGroup, listTree } from './cell-group.ts';
import { commandDir } from './command-group.ts';
import { DyingProcesses } from './dying-processes.ts';
import { freeze, setFrozen } from './freezer.ts';
import { signalQuietly } from './process-move.ts';

const SIGKILL = 9;
/** What is left after this waits in the kernel, and ends when it comes out, by the same signal. */
const DEADLINE_MS = 10_000;

/**
 * Ends every process of a cell but PID 1 and those of the commands that are named. All are frozen while they are listed, so that
 * none can fork away. Returns how many were ended.
 */
export async function endProcesses(cell: CellGroup, initPid: number, keep: readonly string[]): Promise<number> {
  const deadline = Date.now() + DEADLINE_MS;
  const killed = new DyingProcesses();
  let count = 0;
  while (doomed(cell, initPid, keep).length > 0) {
    await freeze(cell, true);
    try {
      for (const pid of doomed(cell, initPid, keep)) {
        killed.add(pid);
        signalQuietly(pid, SIGKILL);
        count += 1;
      }
    } finally {
      setFrozen(cell.processDir, cell.version, false);
    }
    await killed.gone(deadline);
    if (Date.now() > deadline) throw new VivError('internal', 'processes of the sandbox could not be ended in time');
    await sleep(1);
  }
  return count;
}

function doomed(cell: CellGroup, initPid: number, keep: readonly string[]): number[] {
  const kept = new Set([initPid, ...keep.flatMap((execId) => listTree(commandDir(cell, execId)))]);
  return listTree(cell.processDir).filter((pid) => !kept.has(pid));
}
