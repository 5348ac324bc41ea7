import { existsSync, mkdirSync, statfsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { VivError } from '@vivarium/protocol';
import { createSnapshot, enableQuota } from '../../native/btrfs.ts';
import { btrfsDevice, makeBtrfsFile, mountBtrfsFile, qgroupsOf } from '../../native/btrfs-file.ts';
import { MS } from '../../native/mount.ts';
import { paths } from './place.ts';

/**
 * No barriers and rare commits: nothing of a cell outlives a power cut. Freed blocks are punched out of the file.
 */
const OPTIONS = 'nobarrier,discard=async,commit=120';

export type OpenScratch = { stateDir: string; runDir: string; sizeMiBMax?: number };
export type Scratch = {
  /** Directory of sysfs in which the kernel counts each subvolume's bytes. */
  qgroups: string;
  /** Was the file system made anew? Then no cell of before can be alive. */
  made: boolean;
};

/** Runs in the spawner: mounts the node's scratch file system (a sparse file in the state directory), made if missing. */
export async function openScratch({ stateDir, runDir, sizeMiBMax }: OpenScratch): Promise<Scratch> {
  const target = paths.scratch(runDir);
  mkdirSync(target, { recursive: true, mode: 0o700 });
  let made = false;
  if (!btrfsDevice(target)) {
    const file = `${stateDir}/scratch.btrfs`;
    const make = () => makeBtrfsFile({ file, stateDir, what: 'sandbox files', metadata: 'single', sizeMiBMax });
    const mount = () => mountBtrfsFile(file, target, MS.NOATIME | MS.NODEV, OPTIONS);
    made = !existsSync(file);
    if (made) await make();
    try {
      mount();
    } catch {
      // A power cut can spoil it (no barriers); what it held ended with that.
      await make();
      made = true;
      mount();
    }
  }
  enableQuota(target);
  for (const dir of [paths.cells(runDir), paths.snapshots(runDir)]) mkdirSync(dir, { recursive: true, mode: 0o700 });
  return { qgroups: qgroupsOf(target), made };
}

/** Bytes that the file system, or the disk below its file, has left: whichever is less. Called in the server too. */
export function scratchRoom(stateDir: string, runDir: string): number {
  const room = ({ bavail, bsize }: { bavail: number; bsize: number }) => bavail * bsize;
  return Math.min(room(statfsSync(paths.scratch(runDir))), room(statfsSync(stateDir)));
}

export type SnapshotCell = { place: { runDir: string }; id: string; path: string };

/** Runs in the spawner: copies a cell's scratch in an instant. */
export function snapshotCell({ place, id, path }: SnapshotCell): void {
  if (!statSync(paths.cell(place.runDir, id)).isDirectory()) throw new VivError('internal', `no scratch of ${id}`);
  createSnapshot(paths.cell(place.runDir, id), paths.snapshots(place.runDir), basename(path));
}
