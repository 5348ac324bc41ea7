import { closeSync, openSync } from 'node:fs';
import { checked, errnoOf, libc, SYS } from './libc.ts';

/** Flags of mount(2), sys/mount.h. */
export const MS = {
  RDONLY: 1,
  NOSUID: 2,
  NODEV: 4,
  NOEXEC: 8,
  REMOUNT: 32,
  NOATIME: 1024,
  BIND: 4096,
  REC: 16384,
  PRIVATE: 1 << 18,
};
const MNT_DETACH = 2;
const UMOUNT_NOFOLLOW = 8;
export const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;
const OPEN_TREE_CLONE = 1;
const OPEN_TREE_CLOEXEC = 0o2000000;
const MOVE_MOUNT_F_EMPTY_PATH = 4;
const MOVE_MOUNT_T_EMPTY_PATH = 0x40;
const MOUNT_ATTR_RDONLY = 1;
const MOUNT_ATTR_NOSUID = 2;
const MOUNT_ATTR_NODEV = 4;
const MOUNT_ATTR_NOEXEC = 8;
const MOUNT_ATTR_IDMAP = 0x100000;

const mountCall = checked<[string, string, string | null, number, string | null]>(
  'mount',
  libc.func('mount', 'int', ['str', 'str', 'str', 'ulong', 'str']),
  (source, target, type) => `${type ?? ''} ${source} on ${target}`,
);
const umountCall = checked<[string, number]>(
  'umount2',
  libc.func('umount2', 'int', ['str', 'int']),
  (target) => `${target}`,
);
const openTreeCall = checked<[number, number, string, number]>(
  'open_tree',
  libc.func('syscall', 'long', ['long', 'int', 'str', 'uint']),
  (_nr, _dir, path) => path,
);
const moveMountCall = checked<[number, number, string, number, string, number]>(
  'move_mount',
  libc.func('syscall', 'long', ['long', 'int', 'str', 'int', 'str', 'uint']),
  (_nr, fd, _from, _dir, target) => `fd ${fd} to ${target}`,
);
const mountSetattrCall = checked<[number, number, string, number, Buffer, number]>(
  'mount_setattr',
  libc.func('syscall', 'long', ['long', 'int', 'str', 'uint', 'void *', 'size_t']),
  (_nr, fd) => `fd ${fd}`,
);

/** mount(2). `data` holds the comma-separated options of the file system. */
export function mount(source: string, target: string, type: string | null, flags: number, data?: string): void {
  mountCall(source, target, type, flags, data ?? null);
}

/** umount2(2), lazily (MNT_DETACH) and never through a symbolic link. False when nothing is mounted there. */
export function umount(target: string): boolean {
  try {
    umountCall(target, MNT_DETACH | UMOUNT_NOFOLLOW);
    return true;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno !== 'EINVAL' && errno !== 'ENOENT') throw error;
    return false;
  }
}

/**
 * Mounts a copy of the mount at `source` on `target` in which ids are shifted by the map of a user namespace
 * (open_tree(2), mount_setattr(2) with MOUNT_ATTR_IDMAP, move_mount(2)): a file owned by 0 on disk belongs to the
 * namespace's root.
 */
export function mountIdmapped(source: string, target: string, userNamespace: number): void {
  const fd = openTreeCall(SYS.openTree, AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
  try {
    const attr = mountAttr({ set: MOUNT_ATTR_IDMAP, clear: 0, userNamespace });
    mountSetattrCall(SYS.mountSetattr, fd, '', AT_EMPTY_PATH, attr, attr.length);
    moveMountCall(SYS.moveMount, fd, '', AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH);
  } finally {
    closeSync(fd);
  }
}

/**
 * A mount that is nowhere yet: what is below the directory `fd`, with ids shifted by the map of a user namespace. Set-id bits and devices
 * in it mean nothing; programs may be started. The caller closes the descriptor; unless it was moved somewhere, the mount goes with it.
 */
export function cloneMount(fd: number, userNamespace: number, readOnly = true): number {
  const tree = openTreeCall(SYS.openTree, fd, '', OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
  try {
    const set = MOUNT_ATTR_IDMAP | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (readOnly ? MOUNT_ATTR_RDONLY : 0);
    const attr = mountAttr({ set, clear: MOUNT_ATTR_NOEXEC, userNamespace });
    mountSetattrCall(SYS.mountSetattr, tree, '', AT_EMPTY_PATH, attr, attr.length);
    return tree;
  } catch (error) {
    closeSync(tree);
    throw error;
  }
}

/** Puts a mount of `cloneMount` on the directory `target` is a descriptor of. */
export function placeMount(tree: number, target: number): void {
  moveMountCall(SYS.moveMount, tree, '', target, '', MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

/** `struct mount_attr` of linux/mount.h: four 64-bit words. */
export function mountAttr(attr: { set: number; clear: number; userNamespace: number }): Buffer {
  const buffer = Buffer.alloc(32);
  buffer.writeBigUInt64LE(BigInt(attr.set), 0);
  buffer.writeBigUInt64LE(BigInt(attr.clear), 8);
  buffer.writeBigUInt64LE(BigInt(attr.userNamespace), 24);
  return buffer;
}

/** Opens a directory for ioctls on it; the caller closes the descriptor. */
export function openDirectory(path: string): number {
  return openSync(path, 0o200000 /* O_DIRECTORY */ | 0o400000 /* O_NOFOLLOW */);
}
