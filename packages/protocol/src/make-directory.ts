import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * mkdir -p, synchronously. Node's own recursive form never returns where a directory can't be made below one that exists
 * (`/proc/x`: mkdir(2) says ENOENT, it makes the parent again, and so on). Throws the errno of the first mkdir(2) that failed.
 * For every path that a user may name; here because both ends of the wire have such paths.
 */
export function makeDirectory(path: string, mode = 0o777): void {
  const whole = resolve(path);
  if (isDirectory(whole)) return;
  if (dirname(whole) !== whole) makeDirectory(dirname(whole), mode);
  try {
    mkdirSync(whole, { mode });
  } catch (error) {
    // Somebody else was quicker.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isDirectory(whole)) throw error;
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
