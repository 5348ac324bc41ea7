import { basename } from 'node:path';
import { deleteSubvolume } from '../../native/btrfs.ts';
import type { Operations } from '../../spawner/operation.ts';
import { attachLayer, detachLayer } from './attach.ts';
import { changes } from './changes.ts';
import { createCell } from './create.ts';
import { bindCrun } from './crun-binary.ts';
import { destroyCell } from './destroy.ts';
import { openDirectories } from './directories.ts';
import { type Place, paths } from './place.ts';
import { openScratch, snapshotCell } from './scratch.ts';
import { stopAgain, stopCell } from './stop.ts';
import { sweep } from './sweep.ts';

/** What the container driver asks the spawner to do. */
export const containerOperations = {
  openDirectories,
  openScratch,
  bindCrun,
  createCell,
  stopCell,
  stopAgain,
  destroyCell,
  attachLayer,
  detachLayer,
  snapshotCell,
  dropSnapshot: ({ place, path }: { place: Place; path: string }) =>
    deleteSubvolume(paths.snapshots(place.runDir), basename(path)),
  changes,
  sweep,
} satisfies Operations;
