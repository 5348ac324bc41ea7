import koffi from 'koffi';
import { libc, systemError, terminated } from './libc.ts';

const list = libc.func('int64_t llistxattr(const uint8_t *path, uint8_t *list, size_t size)');
const get = libc.func('int64_t lgetxattr(const uint8_t *path, const char *name, uint8_t *value, size_t size)');
const set = libc.func(
  'int lsetxattr(const uint8_t *path, const char *name, const uint8_t *value, size_t size, int flags)',
);
const remove = libc.func('int lremovexattr(const uint8_t *path, const char *name)');

/** The kernel's own bounds (xattr(7)): XATTR_LIST_MAX and XATTR_SIZE_MAX. */
const MAX_BYTES = 65_536;
const buffer = new Uint8Array(MAX_BYTES);
const { ENODATA, ENOTSUP } = { ENODATA: 61, ENOTSUP: 95 };

/** Names of a file's extended attributes; the last symbolic link is not followed. Empty where the file system has none. */
export function listXattrs(path: Buffer): string[] {
  const length = Number(list(terminated(path), buffer, MAX_BYTES));
  if (length < 0) {
    if (koffi.errno() === ENOTSUP) return [];
    throw systemError('llistxattr', path);
  }
  return Buffer.from(buffer.subarray(0, length)).toString('latin1').split('\0').slice(0, -1);
}

/** The value, or null when there is none (any more). */
export function getXattr(path: Buffer, name: string): Buffer | null {
  const length = Number(get(terminated(path), name, buffer, MAX_BYTES));
  if (length >= 0) return Buffer.from(buffer.subarray(0, length));
  if (koffi.errno() === ENODATA) return null;
  throw systemError('lgetxattr', path);
}

export function setXattr(path: Buffer, name: string, value: Uint8Array): void {
  if (set(terminated(path), name, value, value.length, 0) < 0) throw systemError('lsetxattr', path);
}

export function removeXattr(path: Buffer, name: string): void {
  if (remove(terminated(path), name) < 0 && koffi.errno() !== ENODATA) throw systemError('lremovexattr', path);
}
