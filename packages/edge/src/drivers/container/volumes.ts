import { closeSync, openSync } from 'node:fs';
import { O, openat2, RESOLVE } from '@vivarium/layers/tree/openat2.ts';
import { VivError } from '@vivarium/protocol';
import { makeDirectoryAt } from '../../native/directory-at.ts';
import { errnoOf } from '../../native/libc.ts';
import { AT_FDCWD, cloneMount, openDirectory, placeMount } from '../../native/mount.ts';
import { inMountNamespace } from '../../native/mount-namespace.ts';
import type { CellVolume } from '../driver.ts';

const DIRECTORY_MODE = 0o755;

/**
 * Mounts volumes in a cell whose PID 1 waits for us: nothing of its user runs yet. Ids on disk are those inside, whatever range the cell
 * has (MOUNT_ATTR_IDMAP). The cell can't take the mount away or change it: it has no CAP_SYS_ADMIN. `owner`: who the cell's root is
 * on the node.
 */
export function mountVolumes(pid: number, owner: number, volumes: readonly CellVolume[]): void {
  if (volumes.length === 0) return;
  const userNamespace = openSync(`/proc/${pid}/ns/user`, 'r');
  try {
    for (const volume of volumes) mountVolume(pid, owner, userNamespace, volume);
  } finally {
    closeSync(userNamespace);
  }
}

function mountVolume(pid: number, owner: number, userNamespace: number, { directory, at, readOnly }: CellVolume): void {
  const opened: number[] = [openDirectory(directory)];
  try {
    const tree = cloneMount(opened[0]!, userNamespace, readOnly);
    opened.push(tree);
    inMountNamespace(pid, () => {
      const target = openTarget(at, owner);
      opened.push(target);
      placeMount(tree, target);
    });
  } finally {
    for (const fd of opened) closeSync(fd);
  }
}

/** Opens the directory, which is made if it is missing. Links are not followed: where they lead is for programs inside to say. */
function openTarget(at: string, owner: number): number {
  let here = openat2(AT_FDCWD, Buffer.from('/'), O.path | O.directory, 0);
  for (const name of at.split('/').slice(1)) {
    const above = here;
    try {
      here = openName(above, name) ?? makeName(above, name, owner);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno !== 'ENOTDIR' && errno !== 'ELOOP') throw error;
      const message = `a volume can't be mounted on ${at}: ${name} is no directory (symbolic links are not followed)`;
      throw new VivError('invalid_argument', message, { details: { path: at }, cause: error });
    } finally {
      closeSync(above);
    }
  }
  return here;
}

function makeName(above: number, name: string, owner: number): number {
  makeDirectoryAt(above, name, DIRECTORY_MODE, owner);
  return openName(above, name)!;
}

function openName(above: number, name: string): number | undefined {
  try {
    return openat2(above, Buffer.from(name), O.path | O.directory, RESOLVE.noSymlinks | RESOLVE.noMagicLinks);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
