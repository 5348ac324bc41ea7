import { closeSync, fsync, fsyncSync, openSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

/** What waits for the disk goes to the thread pool. All else takes microseconds, less than a trip there. */
const sync = promisify(fsync);

/**
 * Replaces a file so that a crash leaves the old or the new contents, never a mixture: write beside it, fsync, rename, fsync the
 * directory. Errors of the file system pass as they are (ENOSPC included). One at a time per file.
 */
export async function writeFileAtomic(path: string, contents: string, mode = 0o644): Promise<void> {
  await writeFilesAtomic([{ path, contents }], mode);
}

/**
 * The same for a few files at once, which costs hardly more than one: all are on disk before the first gets its name, in the order in
 * which they are given.
 */
export async function writeFilesAtomic(
  files: readonly { path: string; contents: string }[],
  mode = 0o644,
): Promise<void> {
  await Promise.all(files.map(({ path, contents }) => writeSynced(`${path}.new`, contents, mode)));
  for (const { path } of files) renameSync(`${path}.new`, path);
  await Promise.all([...new Set(files.map(({ path }) => dirname(path)))].map(syncDirectory));
}

/** The same while the process starts and nothing else waits. */
export function writeFileAtomicSync(path: string, contents: string, mode = 0o644): void {
  const temporary = `${path}.new`;
  const descriptor = openSync(temporary, 'w', mode);
  try {
    writeFileSync(descriptor, contents);
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
  const directory = openSync(path, 'r');
  try {
    await sync(directory);
  } finally {
    closeSync(directory);
  }
}

async function writeSynced(path: string, contents: string, mode: number): Promise<void> {
  const file = openSync(path, 'w', mode);
  try {
    writeFileSync(file, contents);
    await sync(file);
  } finally {
    closeSync(file);
  }
}
