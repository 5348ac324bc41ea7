import { O, openat2, RESOLVE } from '@vivarium/layers/tree/openat2.ts';

/**
 * Opens a directory (O_PATH) without following any link on the way; `root`: a descriptor of the directory that the path starts at and,
 * if `contained`, can't leave. Throws an error with the code `ENOENT`, `ENOTDIR` or `ELOOP` when it is none.
 */
export function openDirectoryStrictly(root: number, path: string, contained: boolean): number {
  const resolve = RESOLVE.noSymlinks | RESOLVE.noMagicLinks | (contained ? RESOLVE.inRoot : 0);
  return openat2(root, Buffer.from(path), O.path | O.directory, resolve);
}
