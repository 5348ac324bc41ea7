import { checked, libc, SYS } from './libc.ts';

/** openat2(2), linux/openat2.h. */
const O_DIRECTORY = 0o200000;
const O_CLOEXEC = 0o2000000;
const O_PATH = 0o10000000;
const RESOLVE_NO_MAGICLINKS = 0x02;
const RESOLVE_NO_SYMLINKS = 0x04;
const RESOLVE_IN_ROOT = 0x10;

const openat2Call = checked<[number, number, string, Buffer, number]>(
  'openat2',
  libc.func('syscall', 'long', ['long', 'int', 'str', 'void *', 'size_t']),
  (_nr, _dir, path) => path,
);

/**
 * Opens a directory (O_PATH) without following any link on the way; `root`: a descriptor of the directory that the path starts at and
 * can't leave. Throws VivError with `details.errno` `ENOENT`, `ENOTDIR` or `ELOOP` when it is none.
 */
export function openDirectoryStrictly(root: number, path: string, contained: boolean): number {
  const how = Buffer.alloc(24);
  how.writeBigUInt64LE(BigInt(O_PATH | O_DIRECTORY | O_CLOEXEC), 0);
  how.writeBigUInt64LE(BigInt(RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | (contained ? RESOLVE_IN_ROOT : 0)), 16);
  return openat2Call(SYS.openat2, root, path, how, how.length);
}
