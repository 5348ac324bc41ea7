import { closeSync, openSync } from 'node:fs';
import { VivError } from '@vivarium/protocol';
import { errnoOf } from '../../native/libc.ts';
import { AT_FDCWD, cloneMount, openDirectory, placeMount, umount } from '../../native/mount.ts';
import { inMountNamespace } from '../../native/mount-namespace.ts';
import { openDirectoryStrictly } from '../../native/open-strictly.ts';
import { isAlive } from './process-stat.ts';

/** PID 1 of the cell. */
type Init = { pid: number; startTime: string };
export type AttachLayer = Init & { layer: string; from: string; at: string };

/** Runs in the spawner: mounts a directory of a layer inside a running cell, with the cell's ids, read-only. */
export function attachLayer({ layer, from, at, ...init }: AttachLayer): void {
  requireAlive(init);
  const root = openDirectory(layer);
  const opened: number[] = [root];
  try {
    const source = named(`${from} of the layer`, () => openDirectoryStrictly(root, `.${from}`, true));
    opened.push(source);
    const userNamespace = openSync(`/proc/${init.pid}/ns/user`, 'r');
    opened.push(userNamespace);
    const tree = cloneMount(source, userNamespace);
    opened.push(tree);
    inMountNamespace(init.pid, () => {
      const target = named(at, () => openDirectoryStrictly(AT_FDCWD, at, false));
      opened.push(target);
      placeMount(tree, target);
    });
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

/** Runs in the spawner: takes it away again. What still uses it keeps it. */
export function detachLayer({ at, ...init }: Init & { at: string }): void {
  requireAlive(init);
  inMountNamespace(init.pid, () => umount(at));
}

function requireAlive({ pid, startTime }: Init): void {
  if (!isAlive(pid, startTime)) throw new VivError('sandbox_lost', `PID 1 of the cell is gone`);
}

function named(what: string, open: () => number): number {
  try {
    return open();
  } catch (error) {
    const errno = errnoOf(error);
    if (errno !== 'ENOENT' && errno !== 'ENOTDIR' && errno !== 'ELOOP') throw error;
    throw new VivError('path_not_found', `${what} is no directory`, { details: { path: what }, cause: error });
  }
}
