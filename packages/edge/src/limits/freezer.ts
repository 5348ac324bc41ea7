import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { VivError } from '@vivarium/protocol';
import { type CellGroup, write } from './cell-group.ts';

const DEADLINE_MS = 10_000;
const WAIT_MS_MAX = 20;
/** On cgroup v1 a group whose processes fork all the time may stay half frozen for good: it is thawed and frozen anew, as runc does. */
const LOOKS_PER_TRY = 25;
const THAW_MS = 10;

/** Stops every process of a cell, or lets them go on; resolves when it is so. Stopping can take as long as a disk does. */
export async function freeze(cell: CellGroup, frozen: boolean): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  setFrozen(cell.processDir, cell.version, frozen);
  let waitMs = 1;
  for (let looks = 1; frozen && !isFrozen(cell.processDir, cell.version); looks++) {
    if (Date.now() > deadline) {
      setFrozen(cell.processDir, cell.version, false);
      throw new VivError('internal', 'a process of the sandbox could not be stopped in time');
    }
    if (cell.version === 1 && looks % LOOKS_PER_TRY === 0) {
      setFrozen(cell.processDir, cell.version, false);
      await sleep(THAW_MS);
      setFrozen(cell.processDir, cell.version, true);
    }
    await sleep(waitMs);
    waitMs = Math.min(waitMs * 2, WAIT_MS_MAX);
  }
}

/** Asks the kernel to freeze or thaw a group and all below it. It gets there in its own time: see isFrozen. */
export function setFrozen(dir: string, version: 1 | 2, frozen: boolean): void {
  try {
    if (version === 1) write(`${dir}/freezer.state`, frozen ? 'FROZEN' : 'THAWED');
    else write(`${dir}/cgroup.freeze`, frozen ? '1' : '0');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/** Has every process in it stopped? */
export function isFrozen(dir: string, version: 1 | 2): boolean {
  try {
    if (version === 1) return readFileSync(`${dir}/freezer.state`, 'latin1').startsWith('FROZEN');
    return readFileSync(`${dir}/cgroup.events`, 'latin1').includes('frozen 1');
  } catch {
    return false;
  }
}
