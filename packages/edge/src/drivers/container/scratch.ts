import { execFile } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, statfsSync, statSync, truncateSync } from 'node:fs';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { VivError } from '@vivarium/protocol';
import { createSnapshot, enableQuota } from '../../native/btrfs.ts';
import { attachLoop, findLoop } from '../../native/loop.ts';
import { MS, mount } from '../../native/mount.ts';
import { paths } from './place.ts';
import { qgroupDirectory, scratchDevice } from './qgroups.ts';

const MIB = 1024 * 1024;
/** A file system for cells that is smaller than this is of no use. */
const SIZE_MIN = 512 * MIB;
const SHARE_OF_FREE = 0.6;
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
  let source = scratchDevice(runDir);
  if (!source) {
    const file = `${stateDir}/scratch.btrfs`;
    made = !existsSync(file);
    if (made) await makeFileSystem(file, stateDir, sizeMiBMax);
    try {
      source = attachAndMount(file, target);
    } catch {
      // A power cut can spoil it (no barriers); what it held ended with that.
      await makeFileSystem(file, stateDir, sizeMiBMax);
      made = true;
      source = attachAndMount(file, target);
    }
  }
  enableQuota(target);
  for (const dir of [paths.cells(runDir), paths.snapshots(runDir)]) mkdirSync(dir, { recursive: true, mode: 0o700 });
  return { qgroups: qgroupDirectory(runDir), made };
}

async function makeFileSystem(file: string, stateDir: string, sizeMiBMax = Number.POSITIVE_INFINITY): Promise<void> {
  const { bavail, bsize } = statfsSync(stateDir);
  const bytes = Math.floor(Math.min(sizeMiBMax * MIB, bavail * bsize * SHARE_OF_FREE) / MIB) * MIB;
  if (bytes < SIZE_MIN) {
    const message = `${stateDir} has room for ${bytes / MIB} MiB of sandbox files, ${SIZE_MIN / MIB} MiB are needed`;
    throw new VivError('node_disk_full', message);
  }
  closeSync(openSync(file, 'w', 0o600));
  truncateSync(file, bytes);
  try {
    await promisify(execFile)('mkfs.btrfs', ['-q', '-f', '-K', '-m', 'single', '-d', 'single', file], {
      timeout: 60_000,
    });
  } catch (error) {
    const remedy = 'Install btrfs-progs (apt-get install btrfs-progs).';
    throw new VivError('precondition_failed', 'mkfs.btrfs failed', { hint: remedy, cause: error });
  }
}

/** A loop device that still has the file (its cells outlived all of our processes) is used again. */
function attachAndMount(file: string, target: string): string {
  const existing = findLoop(file);
  const loop = existing
    ? { path: existing, fd: openSync(existing, 'r') }
    : attachLoop(file, { readonly: false, directIo: true });
  try {
    mount(loop.path, target, 'btrfs', MS.NOATIME | MS.NODEV, OPTIONS);
    return loop.path;
  } finally {
    closeSync(loop.fd);
  }
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
