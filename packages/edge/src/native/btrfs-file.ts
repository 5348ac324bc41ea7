import { execFile } from 'node:child_process';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statfsSync,
  truncateSync,
} from 'node:fs';
import { basename } from 'node:path';
import { promisify } from 'node:util';
import { VivError } from '@vivarium/protocol';
import { parseMountInfo } from '../limits/mountinfo.ts';
import { removeQgroup } from './btrfs.ts';
import { attachLoop, findLoop } from './loop.ts';
import { mount } from './mount.ts';

const MIB = 1024 * 1024;
/** A file system that is smaller than this is of no use. */
const SIZE_MIN = 512 * MIB;
const SHARE_OF_FREE = 0.6;
/** Ids of subvolumes; lower ones are the file system's own. */
const FIRST_SUBVOLUME = 256;

export type BtrfsFile = {
  /** A sparse file in the state directory. */
  file: string;
  stateDir: string;
  /** What it holds, for messages. */
  what: string;
  /** Profile of its metadata (mkfs.btrfs(8)). */
  metadata: 'single' | 'dup';
  sizeMiBMax?: number | undefined;
};

/** Makes the sparse file with a btrfs in it, as large as most of what is free. Throws `node_disk_full`, `precondition_failed`. */
export async function makeBtrfsFile({ file, stateDir, what, metadata, sizeMiBMax }: BtrfsFile): Promise<void> {
  const { bavail, bsize } = statfsSync(stateDir);
  const most = (sizeMiBMax ?? Number.POSITIVE_INFINITY) * MIB;
  const bytes = Math.floor(Math.min(most, bavail * bsize * SHARE_OF_FREE) / MIB) * MIB;
  if (bytes < SIZE_MIN) {
    const message = `${stateDir} has room for ${bytes / MIB} MiB of ${what}, ${SIZE_MIN / MIB} MiB are needed`;
    throw new VivError('node_disk_full', message);
  }
  const unfinished = `${file}.new`;
  closeSync(openSync(unfinished, 'w', 0o600));
  truncateSync(unfinished, bytes);
  try {
    await promisify(execFile)('mkfs.btrfs', ['-q', '-f', '-K', '-m', metadata, '-d', 'single', unfinished], {
      timeout: 60_000,
    });
  } catch (error) {
    const remedy = 'Install btrfs-progs (apt-get install btrfs-progs).';
    throw new VivError('precondition_failed', 'mkfs.btrfs failed', { hint: remedy, cause: error });
  }
  renameSync(unfinished, file);
}

/** Mounts the file; a loop device that still has it (its users outlived all of our processes) is used again. Returns the device. */
export function mountBtrfsFile(file: string, target: string, flags: number, options: string): string {
  const existing = findLoop(file);
  const loop = existing
    ? { path: existing, fd: openSync(existing, 'r') }
    : attachLoop(file, { readonly: false, directIo: true });
  try {
    mount(loop.path, target, 'btrfs', flags, options);
    return loop.path;
  } finally {
    closeSync(loop.fd);
  }
}

/** The device of the btrfs that is mounted there, if one is. */
export function btrfsDevice(target: string): string | undefined {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  return mounts.find((entry) => entry.target === target && entry.type === 'btrfs')?.source;
}

/** The directory of sysfs in which the kernel keeps the account of each subvolume of the btrfs at `target`. */
export function qgroupsOf(target: string): string {
  const device = btrfsDevice(target);
  const root = '/sys/fs/btrfs';
  for (const uuid of device ? readdirSync(root) : [])
    if (existsSync(`${root}/${uuid}/devices/${basename(device!)}`)) return `${root}/${uuid}/qgroups`;
  throw new VivError('unsupported', `the kernel shows no btrfs file system at ${target}`);
}

/** Removes the accounts of subvolumes that are not among the live ones: kernels before 6.11 keep them. */
export function pruneAccounts(target: string, live: ReadonlySet<number>): void {
  for (const name of readdirSync(qgroupsOf(target))) {
    const id = Number(/^0_(\d+)$/.exec(name)?.[1] ?? 0);
    if (id >= FIRST_SUBVOLUME && !live.has(id)) removeQgroup(target, id);
  }
}
