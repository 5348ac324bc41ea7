import { libc, systemError, terminated } from './libc.ts';

const syscall = libc.func(
  'long syscall(long number, int directory, const uint8_t *path, const uint64_t *how, size_t size)',
);
/** asm-generic/unistd.h, the same on all architectures. */
const OPENAT2 = 437;
const O_CLOEXEC = 0o2000000;

/** linux/openat2.h. */
export const RESOLVE = { noMagicLinks: 0x02, noSymlinks: 0x04, beneath: 0x08, inRoot: 0x10 } as const;

/** Flags of open(2) that node:fs does not have, or not everywhere. */
export const O = { path: 0o10000000, directory: 0o200000 } as const;

/** openat2(2): opens a path from a directory, with `resolve` saying what it may lead through. Throws errors with a code, as node:fs does. */
export function openat2(directory: number, path: Buffer, flags: number, resolve: number): number {
  const how = new BigUint64Array([BigInt(flags | O_CLOEXEC), 0n, BigInt(resolve)]);
  const fd = Number(syscall(OPENAT2, directory, terminated(path), how, how.byteLength));
  if (fd < 0) throw systemError('openat2', path);
  return fd;
}
