import { closeSync } from 'node:fs';
import koffi from 'koffi';
import { checked, errnoOf, libc } from './libc.ts';
import { openDirectory } from './mount.ts';

/** ioctl numbers of linux/btrfs.h (magic 0x94), x86-64. */
const IOC = {
  sync: 0x9408,
  inoLookup: 0xd0009412,
  snapCreateV2: 0x50009417,
  subvolCreateV2: 0x50009418,
  snapDestroyV2: 0x5000943f,
  quotaCtl: 0xc0109428,
  qgroupCreate: 0x4010942a,
  qgroupLimit: 0x8030942b,
} as const;
const QUOTA_ENABLE = 1n;
/** Simple quotas: the writer's subvolume is charged at allocation, no back-reference walks (Linux ≥ 6.7). */
const QUOTA_ENABLE_SIMPLE = 4n;
const SUBVOL_RDONLY = 2n;
const SUBVOL_QGROUP_INHERIT = 4n;
const LIMIT_MAX_RFER = 1n;
const INHERIT_SET_LIMITS = 1n;
/** Inode number of a subvolume's root directory: BTRFS_FIRST_FREE_OBJECTID. */
const SUBVOLUME_INODE = 256;
const ARGS_BYTES = 4096;
const NAME_OFFSET = 56;
const INHERIT_BYTES = 72;
const QGROUP_LIMIT_BYTES = 48;

const ioctl = checked<[number, number, Buffer | null]>(
  'ioctl',
  libc.func('ioctl', 'int', ['int', 'ulong', 'void *']),
  (_fd, request) => `btrfs 0x${request.toString(16)}`,
);

/** Makes a subvolume `name` in the directory `parent` that can hold at most `limitBytes`. Returns its id. */
export function createSubvolume(parent: string, name: string, limitBytes: number): number {
  return within(parent, (fd) => {
    const inherit = qgroupInherit(limitBytes);
    ioctl(fd, IOC.subvolCreateV2, volumeArgs(name, { flags: SUBVOL_QGROUP_INHERIT, inherit }));
    return subvolumeId(`${parent}/${name}`);
  });
}

/** Makes `name` in `parent` a snapshot of the subvolume `source`. Without a limit the new one may grow freely. */
export function createSnapshot(
  source: string,
  parent: string,
  name: string,
  options: { limitBytes?: number; readonly?: boolean } = {},
): number {
  return within(source, (from) =>
    within(parent, (fd) => {
      const inherit = options.limitBytes === undefined ? undefined : qgroupInherit(options.limitBytes);
      const flags = (options.readonly ? SUBVOL_RDONLY : 0n) | (inherit ? SUBVOL_QGROUP_INHERIT : 0n);
      ioctl(fd, IOC.snapCreateV2, volumeArgs(name, { flags, fd: from, inherit }));
      return subvolumeId(`${parent}/${name}`);
    }),
  );
}

/** Deletes the subvolume `name` in `parent`; its space comes back in the background. False when there is none. */
export function deleteSubvolume(parent: string, name: string): boolean {
  try {
    within(parent, (fd) => ioctl(fd, IOC.snapDestroyV2, volumeArgs(name, {})));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** The id of the subvolume that holds `path` (BTRFS_IOC_INO_LOOKUP with tree 0). */
export function subvolumeId(path: string): number {
  return within(path, (fd) => {
    const args = Buffer.alloc(ARGS_BYTES);
    args.writeBigUInt64LE(BigInt(SUBVOLUME_INODE), 8);
    ioctl(fd, IOC.inoLookup, args);
    return Number(args.readBigUInt64LE(0));
  });
}

/** Switches quotas on: simple ones where the kernel has them. On already is fine. Says which were asked for. */
export function enableQuota(path: string): 'simple' | 'full' {
  return within(path, (fd) => {
    try {
      quotaControl(fd, QUOTA_ENABLE_SIMPLE);
      return 'simple';
    } catch (error) {
      if (errnoOf(error) !== 'EINVAL') throw error;
      quotaControl(fd, QUOTA_ENABLE);
      return 'full';
    }
  });
}

/** Changes what a subvolume may refer to. One that refers to more keeps it and takes no more. */
export function limitSubvolume(path: string, id: number, limitBytes: number): void {
  within(path, (fd) => {
    const args = Buffer.alloc(QGROUP_LIMIT_BYTES);
    args.writeBigUInt64LE(BigInt(id), 0);
    args.writeBigUInt64LE(LIMIT_MAX_RFER, 8);
    args.writeBigUInt64LE(BigInt(limitBytes), 16);
    ioctl(fd, IOC.qgroupLimit, args);
  });
}

/** Removes the accounting of a deleted subvolume (kernels before 6.11 keep it). False while the kernel still needs it. */
export function removeQgroup(path: string, id: number): boolean {
  return within(path, (fd) => {
    const args = Buffer.alloc(16);
    args.writeBigUInt64LE(BigInt(id), 8);
    try {
      ioctl(fd, IOC.qgroupCreate, args);
      return true;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return true;
      if (errnoOf(error) === 'EBUSY') return false;
      throw error;
    }
  });
}

/** Commits the running transaction, so that deleted subvolumes are taken apart soon (BTRFS_IOC_SYNC). Blocks. */
export function syncFileSystem(path: string): void {
  within(path, (fd) => ioctl(fd, IOC.sync, null));
}

/** `struct btrfs_ioctl_vol_args_v2`. `inherit` must stay alive during the call. */
export function volumeArgs(
  name: string,
  options: { flags?: bigint; fd?: number; inherit?: Buffer | undefined },
): Buffer {
  const args = Buffer.alloc(ARGS_BYTES);
  args.writeBigInt64LE(BigInt(options.fd ?? 0), 0);
  args.writeBigUInt64LE(options.flags ?? 0n, 16);
  if (options.inherit) {
    args.writeBigUInt64LE(BigInt(options.inherit.length), 24);
    args.writeBigUInt64LE(koffi.address(options.inherit), 32);
  }
  args.write(name, NAME_OFFSET);
  return args;
}

/** `struct btrfs_qgroup_inherit` that sets a limit on what the new subvolume refers to. */
export function qgroupInherit(limitBytes: number): Buffer {
  const inherit = Buffer.alloc(INHERIT_BYTES);
  inherit.writeBigUInt64LE(INHERIT_SET_LIMITS, 0);
  inherit.writeBigUInt64LE(LIMIT_MAX_RFER, 32);
  inherit.writeBigUInt64LE(BigInt(limitBytes), 40);
  return inherit;
}

function quotaControl(fd: number, command: bigint): void {
  const args = Buffer.alloc(16);
  args.writeBigUInt64LE(command, 0);
  try {
    ioctl(fd, IOC.quotaCtl, args);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error;
  }
}

function within<T>(path: string, use: (fd: number) => T): T {
  const fd = openDirectory(path);
  try {
    return use(fd);
  } finally {
    closeSync(fd);
  }
}
