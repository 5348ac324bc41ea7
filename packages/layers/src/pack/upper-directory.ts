import { constants, openSync, readdirSync } from 'node:fs';
import type { LowerDirectory } from './lower.ts';

const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** Opens an overlay upper directory, from which on nothing in it is reached by a path: an agent may be changing it. */
export function openUpper(path: string): number {
  return openSync(path, DIRECTORY);
}

/** The same for a directory in it. Undefined when it was replaced by something else since it was listed. */
export function openBelow(path: Buffer): number | undefined {
  try {
    return openSync(path, DIRECTORY);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ELOOP' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** The names of an open directory and, when it is opaque, those of the image that it hides; sorted by their bytes. */
export function namesIn(fd: number, lower: LowerDirectory, isOpaque: boolean): Buffer[] {
  const names = readdirSync(`/proc/self/fd/${fd}`, { encoding: 'buffer' });
  if (!isOpaque) return names.sort(Buffer.compare);
  const there = new Set(names.map((name) => name.toString('latin1')));
  const hidden = lower.names().filter((name) => !there.has(name.toString('latin1')));
  return [...names, ...hidden].sort(Buffer.compare);
}
