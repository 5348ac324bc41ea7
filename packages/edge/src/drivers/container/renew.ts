import { existsSync, lstatSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { CellGroup } from '../../limits/cell-group.ts';
import { deleteSubvolume } from '../../native/btrfs.ts';
import { tidyAfterStart } from './leftovers.ts';
import { type DestroyCell, paths } from './place.ts';
import { reapInit } from './reap.ts';
import { endProcesses, unlinkIfThere } from './stop.ts';

/** What is removed file by file; a scratch that holds more is replaced. */
const ENTRIES_MAX = 64;
const DEPTH_MAX = 12;
/** Quota of files that reached the disk comes back only when btrfs commits: those that matter go with their subvolume. */
const BYTES_MAX = 256 * 1024;

/**
 * Runs in the spawner: ends all that runs in a cell, and so every namespace it held. Its control groups stay: nobody inside
 * can see or change them.
 */
export async function clearCell({ place, id }: DestroyCell): Promise<void> {
  const { runDir } = place;
  const group = new CellGroup(place.hierarchy, id);
  group.hurry();
  await endProcesses(group, id, () => group.removeCommands());
  await reapInit(id);
  unlinkIfThere(paths.socket(runDir, id));
  if (existsSync(paths.root(runDir, id)) || existsSync(paths.crunCell(runDir, id))) tidyAfterStart(runDir, id);
}

/**
 * Takes all that a used cell wrote out of its scratch, and the directory itself, whose owner, mode and attributes it may
 * have changed. When that would be much work, or anything resists, the whole scratch goes. True when it is still there.
 */
export function emptyScratch(cell: string): boolean {
  try {
    const left = { entries: ENTRIES_MAX, bytes: BYTES_MAX };
    if (removeSmall(Buffer.from(`${cell}/upper`), DEPTH_MAX, left)) return true;
  } catch {
    // A name too long, a file that may not be removed: see below.
  }
  deleteSubvolume(dirname(cell), basename(cell));
  return false;
}

/** Bounded, and never through a link: no process of the cell is left that could put one there. Names need not be UTF-8. */
function removeSmall(dir: Buffer, depth: number, left: { entries: number; bytes: number }): boolean {
  for (const entry of readdirSync(dir, { withFileTypes: true, encoding: 'buffer' })) {
    const path = Buffer.concat([dir, Buffer.from('/'), entry.name]);
    if (--left.entries < 0) return false;
    if (entry.isDirectory()) {
      if (depth === 0 || !removeSmall(path, depth - 1, left)) return false;
      continue;
    }
    left.bytes -= lstatSync(path).size;
    if (left.bytes < 0) return false;
    unlinkSync(path);
  }
  rmdirSync(dir);
  return true;
}
