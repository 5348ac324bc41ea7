import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { release } from 'node:os';
import { basename } from 'node:path';
import { VivError } from '@vivarium/protocol';
import { parseMountInfo } from '../../limits/mountinfo.ts';
import { removeQgroup, subvolumeId } from '../../native/btrfs.ts';
import { paths } from './place.ts';

/** Destroys between two looks for accounts of deleted subvolumes. */
const PRUNE_EVERY = 256;
let sincePrune = 0;
const keepsAccounts = keepsDeletedAccounts(release());

/** The directory of sysfs in which the kernel keeps the account of each subvolume of the scratch file system. */
export function qgroupDirectory(runDir: string): string {
  const device = scratchDevice(runDir);
  const root = '/sys/fs/btrfs';
  for (const uuid of device ? readdirSync(root) : [])
    if (existsSync(`${root}/${uuid}/devices/${basename(device!)}`)) return `${root}/${uuid}/qgroups`;
  throw new VivError('unsupported', `the kernel shows no btrfs file system at ${paths.scratch(runDir)}`);
}

/** The device that is mounted as scratch, if one is. */
export function scratchDevice(runDir: string): string | undefined {
  const target = paths.scratch(runDir);
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  return mounts.find((entry) => entry.target === target && entry.type === 'btrfs')?.source;
}

/** Called after each destroy: kernels before 6.11 keep the accounts of deleted subvolumes until they are told. */
export function countDestroy(runDir: string): void {
  if (!keepsAccounts || ++sincePrune < PRUNE_EVERY) return;
  sincePrune = 0;
  pruneQgroups(runDir);
}

/** Of a kernel release such as `6.1.0-18-amd64`. */
export function keepsDeletedAccounts(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10));
  return major < 6 || (major === 6 && minor < 11);
}

/** Removes the accounts of subvolumes that are gone. */
export function pruneQgroups(runDir: string): void {
  const live = new Set([paths.cells(runDir), paths.snapshots(runDir)].flatMap(subvolumeIds));
  for (const name of readdirSync(qgroupDirectory(runDir))) {
    const id = Number(/^0_(\d+)$/.exec(name)?.[1] ?? 0);
    if (id >= FIRST_SUBVOLUME && !live.has(id)) removeQgroup(paths.scratch(runDir), id);
  }
}

/** Lower ids are the file system's own. */
const FIRST_SUBVOLUME = 256;

function subvolumeIds(dir: string): number[] {
  return readdirSync(dir).map((name) => subvolumeId(`${dir}/${name}`));
}
