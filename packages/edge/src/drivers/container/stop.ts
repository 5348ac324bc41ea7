import { existsSync, unlinkSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { VivError } from '@vivarium/protocol';
import { CellGroup, listGroups } from '../../limits/cell-group.ts';
import { setFrozen } from '../../limits/freezer.ts';
import { kill } from '../../native/process.ts';
import { tidyAfterStart } from './leftovers.ts';
import { type DestroyCell, paths } from './place.ts';
import { reapInit } from './reap.ts';

/** The kernel has that long to end killed processes (a dying one may wait for a disk). */
const DEADLINE_MS = 20_000;
const FIRST_WAIT_MS = 1;
const WAIT_MS_MAX = 50;

/** Runs in the spawner: ends all of a cell and removes all but its scratch, by its id alone, in whatever state it is. */
export async function stopCell({ place, id }: DestroyCell): Promise<void> {
  const { runDir } = place;
  const group = new CellGroup(place.hierarchy, id);
  group.hurry();
  await endProcesses(group, id, () => group.remove());
  await reapInit(id);
  unlinkIfThere(paths.socket(runDir, id));
  if (existsSync(paths.root(runDir, id)) || existsSync(paths.crunCell(runDir, id))) tidyAfterStart(runDir, id);
}

/**
 * Runs in the spawner: the same after a restart of the edge. False when its scratch is gone. A process that doesn't end in time (it waits for
 * a disk) has its SIGKILL and runs no more; the next start of the cell waits for it. That is no reason to give up the files.
 */
export async function stopAgain(params: DestroyCell): Promise<boolean> {
  await stopCell(params).catch(() => undefined);
  return existsSync(`${paths.cell(params.place.runDir, params.id)}/upper`);
}

/**
 * Kills every process of the cell, and then does with its control groups what can be done once they are empty. When PID 1
 * of a namespace ends, the kernel ends all in it; crun, which is outside, may be there too if a create was cut short. So:
 * thaw, kill whatever is listed, until the groups can be removed, or their children.
 */
export async function endProcesses(group: CellGroup, id: string, whenEmpty: () => boolean): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, WAIT_MS_MAX)) {
    const pids = group.pids();
    if (pids.length === 0 && whenEmpty()) return;
    for (const pid of pids) killQuietly(pid);
    // A frozen one takes its signal when it thaws.
    if (waitMs > FIRST_WAIT_MS) thaw(group);
    if (Date.now() > deadline)
      throw new VivError('internal', `processes of ${id} did not end: ${pids.slice(0, 20).join(' ')}`);
    await sleep(waitMs);
  }
}

/** Those of its commands too: a process of ours may have died while it killed what was in one, frozen for that (v1). */
function thaw(group: CellGroup): void {
  for (const dir of [group.processDir, ...listGroups(group.processDir)]) setFrozen(dir, group.version, false);
}

export function unlinkIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function killQuietly(pid: number): void {
  try {
    kill(pid, 9);
  } catch {
    // It has ended by itself.
  }
}
