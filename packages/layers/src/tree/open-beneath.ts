import { closeSync } from 'node:fs';
import { O, openat2, RESOLVE } from './openat2.ts';

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
      const next = open(base, names.slice(from, to), last ? flags : O.path | O.directory);
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
  const path = parts.length > 0 ? Buffer.concat(parts) : Buffer.from('.');
  return openat2(directory, path, flags, RESOLVE.noSymlinks | RESOLVE.beneath);
}
