import { basename, dirname } from 'node:path';
import { deleteSubvolume } from '../../native/btrfs.ts';
import { type DestroyCell, paths } from './place.ts';
import { countDestroy } from './qgroups.ts';
import { stopCell } from './stop.ts';

/**
 * Runs in the spawner: removes a cell by its id alone, in whatever state it is: whole, half made, half removed, stopped, gone.
 */
export async function destroyCell(params: DestroyCell): Promise<void> {
  await stopCell(params);
  const { runDir } = params.place;
  const cell = paths.cell(runDir, params.id);
  if (deleteSubvolume(dirname(cell), basename(cell))) countDestroy(runDir);
}
