import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Replaces a file so that a crash leaves the old or the new contents, never a mixture: write beside it, fsync, rename, fsync the
 * directory. Errors of the file system pass as they are (ENOSPC included). One at a time per file.
 */
export async function writeFileAtomic(path: string, contents: string, mode = 0o644): Promise<void> {
  const temporary = `${path}.new`;
  const file = await open(temporary, 'w', mode);
  try {
    await file.writeFile(contents);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  await syncDirectory(dirname(path));
}

/** The same while the process starts and nothing else waits. */
export function writeFileAtomicSync(path: string, contents: string, mode = 0o644): void {
  const temporary = `${path}.new`;
  const descriptor = openSync(temporary, 'w', mode);
  try {
    writeSync(descriptor, contents);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(temporary, path);
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

/** Makes renames and removals in a directory durable. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
