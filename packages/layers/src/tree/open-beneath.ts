import { closeSync } from 'node:fs';
import koffi from 'koffi';

const libc = koffi.load('libc.so.6');
const syscall = libc.func(
  'long syscall(long number, int directory, const uint8_t *path, const uint64_t *how, size_t size)',
);

/** asm-generic/unistd.h, the same on all architectures. */
const OPENAT2 = 437;
const RESOLVE_NO_SYMLINKS = 0x04n;
const RESOLVE_BENEATH = 0x08n;
const O_PATH = 0o10000000;
const O_DIRECTORY = 0o200000;
const O_CLOEXEC = 0o2000000;
/** PATH_MAX with its NUL. */
const PATH_BYTES = 4096;

/**
 * Opens a path below a directory without following any symbolic link, however long the path is: openat2(2). Errors of the file system
 * pass with their code.
 */
export function openBeneath(directory: number, names: readonly Buffer[], flags: number): number {
  let base = directory;
  try {
    for (let from = 0; ; ) {
      const to = reach(names, from);
      const last = to === names.length;
      const next = open(base, names.slice(from, to), last ? flags : O_PATH | O_DIRECTORY);
      if (base !== directory) closeSync(base);
      base = next;
      if (last) return next;
      from = to;
    }
  } catch (error) {
    if (base !== directory) closeSync(base);
    throw error;
  }
}

/** How far the names go in one call. */
function reach(names: readonly Buffer[], from: number): number {
  let bytes = 0;
  let to = from;
  while (to < names.length && bytes + names[to]!.length + 1 <= PATH_BYTES) bytes += names[to++]!.length + 1;
  return to;
}

function open(directory: number, names: readonly Buffer[], flags: number): number {
  const SLASH = Buffer.from('/');
  const parts = names.flatMap((name, i) => (i === 0 ? [name] : [SLASH, name]));
  const path = Buffer.concat([...(parts.length > 0 ? parts : [Buffer.from('.')]), Buffer.from([0])]);
  const how = new BigUint64Array([BigInt(flags | O_CLOEXEC), 0n, RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH]);
  const fd = Number(syscall(OPENAT2, directory, path, how, how.byteLength));
  if (fd >= 0) return fd;
  const errno = koffi.errno();
  const code = Object.entries(koffi.os.errno).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`;
  throw Object.assign(new Error(`${code}: openat2 ${path.toString('latin1')}`), { code });
}
