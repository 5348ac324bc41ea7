import { statfsSync } from 'node:fs';

/** Bytes that can still be written on the file system of a directory. Not in space.ts: worker processes know no VivError. */
export function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

/** The error that a write to a full file system gives, before anything is written. `what`: there is no room for it. */
export function requireFree(directory: string, bytes: number, what: string): void {
  if (freeBytes(directory) < bytes) throw Object.assign(new Error(`no room ${what}`), { code: 'ENOSPC' });
}
