import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, statfsSync, statSync } from 'node:fs';
import {
  createSubvolume,
  deleteSubvolume,
  enableQuota,
  limitSubvolume,
  subvolumeId,
  syncFileSystem,
} from '../native/btrfs.ts';
import { btrfsDevice, makeBtrfsFile, mountBtrfsFile, pruneAccounts, qgroupsOf } from '../native/btrfs-file.ts';
import { MS } from '../native/mount.ts';
import type { Operations } from '../spawner/operation.ts';
import { volumePaths } from './place.ts';

/** Freed blocks are punched out of the file. Barriers stay on: volumes outlive a power cut. */
const OPTIONS = 'discard=async';
/** Nothing that a sandbox leaves in a volume can do anything on the host; what it mounts itself may be executed. */
const FLAGS = MS.NOATIME | MS.NOSUID | MS.NODEV | MS.NOEXEC;
const MIB = 1_048_576;
const SIZE_MIN_MIB = 512;
/** For layers, journals and whatever else lies on the disk. */
const RESERVE_MIB = 1024;
/** The first user of most images. */
const USER = 1000;
const OPEN_TO_ALL = 0o777;

export type OpenVolumes = { stateDir: string; runDir: string; make: boolean };
/** `accounts`: the directory of sysfs with what each subvolume holds. Null: there is no file system of volumes yet. */
export type OpenedVolumes = { accounts: string; subvolumes: Record<string, number> } | null;

/** What the spawner does for volumes. */
export const volumeOperations = {
  openVolumes,
  createVolume,
  limitVolumes,
  deleteVolume: ({ runDir, id }: { runDir: string; id: string }) => deleteSubvolume(volumePaths.mount(runDir), id),
} satisfies Operations;

/** Mounts the file system of volumes, if there is one or `make` asks for it. One that can't be mounted is never made anew. */
async function openVolumes({ stateDir, runDir, make }: OpenVolumes): Promise<OpenedVolumes> {
  const target = volumePaths.mount(runDir);
  const file = volumePaths.file(stateDir);
  if (!btrfsDevice(target)) {
    if (!existsSync(file)) {
      if (!make) return null;
      await makeBtrfsFile({ file, stateDir, what: 'volumes', metadata: 'dup', sizeMiBMax: roomMiB(stateDir) });
    }
    mkdirSync(target, { recursive: true, mode: 0o700 });
    mountBtrfsFile(file, target, FLAGS, OPTIONS);
    chmodSync(target, 0o700);
  }
  enableQuota(target);
  const subvolumes = Object.fromEntries(readdirSync(target).map((id) => [id, subvolumeId(`${target}/${id}`)]));
  pruneAccounts(target, new Set(Object.values(subvolumes)));
  return { accounts: qgroupsOf(target), subvolumes };
}

/**
 * What the scratch file can't grow into, less a reserve: both grow as they are written to, and a file system whose file finds the disk
 * full fails. On a disk so small that nothing would be left they share it.
 */
function roomMiB(stateDir: string): number {
  const { bavail, bsize } = statfsSync(stateDir);
  const scratch = statSync(`${stateDir}/scratch.btrfs`, { throwIfNoEntry: false });
  const promised = scratch ? Math.max(0, scratch.size - scratch.blocks * 512) : 0;
  return Math.max(SIZE_MIN_MIB, Math.floor((bavail * bsize - promised) / MIB) - RESERVE_MIB);
}

/** New limits in bytes, by id of the subvolume. */
function limitVolumes({ runDir, limits }: { runDir: string; limits: [number, number][] }): void {
  for (const [subvolume, bytes] of limits) limitSubvolume(volumePaths.mount(runDir), subvolume, bytes);
}

/** A subvolume with a limit. Returns its id. */
function createVolume({ runDir, id, limitBytes }: { runDir: string; id: string; limitBytes: number }): number {
  const parent = volumePaths.mount(runDir);
  deleteSubvolume(parent, id);
  const subvolume = createSubvolume(parent, id, limitBytes);
  const directory = volumePaths.directory(runDir, id);
  mkdirSync(directory);
  chownSync(directory, USER, USER);
  chmodSync(directory, OPEN_TO_ALL);
  mkdirSync(volumePaths.staging(runDir, id), { mode: 0o700 });
  syncFileSystem(parent);
  return subvolume;
}
