import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Replaces a file so that a crash leaves the old or the new contents, never a mixture: write beside it, fsync, rename, fsync the
 * directory. Errors of the file system pass as they are (ENOSPC included).
 */
export function writeFileAtomic(path: string, contents: string, mode = 0o644): void {
  const temporary = `${path}.new`;
  const descriptor = openSync(temporary, 'w', mode);
  try {
    writeSync(descriptor, contents);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, path);
  syncDirectory(dirname(path));
}

/** Makes renames and removals in a directory durable. */
export function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
