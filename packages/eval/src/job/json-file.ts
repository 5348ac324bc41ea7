import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { VivError } from '@vivarium/sdk';

/**
 * Written beside, synced, renamed, and the directory synced: readers, and whoever comes after a power cut, see the old
 * content or the new one, never a part. `mode` 0o600 for what may hold values of variables.
 */
export function writeJson(path: string, value: unknown, options: { mode?: number; durable?: boolean } = {}): void {
  const { mode = 0o644, durable = true } = options;
  const temporary = `${path}.${process.pid}.tmp`;
  const fd = openSync(temporary, 'w', mode);
  try {
    writeSync(fd, text(value));
    if (durable) fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
  if (durable) syncDirectory(dirname(path));
}

/** The same, durable, while other work goes on. One at a time per file. */
export async function saveJson(path: string, value: unknown): Promise<void> {
  const temporary = `${path}.${process.pid}.tmp`;
  const file = await open(temporary, 'w', 0o644);
  try {
    await file.writeFile(text(value));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const directory = await open(dirname(path), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Undefined when there is no such file or it is not whole JSON: what a killed writer left is not there. */
export function readJson<T>(path: string): T | undefined {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new VivError('file_error', `can't read ${path}: ${(error as Error).message}`, {
      fault: 'user',
      cause: error,
    });
  }
  try {
    return JSON.parse(content) as T;
  } catch {
    return undefined;
  }
}

function text(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function syncDirectory(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
