import { closeSync, mkdirSync, statSync } from 'node:fs';
import { VivError } from '@vivarium/protocol';
import { errnoOf } from '../native/libc.ts';
import { attachLoop } from '../native/loop.ts';
import { MS, mount, umount } from '../native/mount.ts';
import type { Operations } from './operation.ts';

export type MountErofs = { file: string; target: string };
export type Umount = { target: string };

export const mountOperations = {
  mountErofs,
  umount: ({ target }: Umount) => {
    umount(target);
  },
} satisfies Operations;

/**
 * Mounts a layer file read-only: straight from the file where the kernel can (Linux ≥ 6.12), else by a loop device
 * that goes away with the mount.
 */
function mountErofs({ file, target }: MountErofs): void {
  mkdirSync(target, { recursive: true });
  if (!statSync(file).isFile()) throw new VivError('internal', `not a layer file: ${file}`);
  try {
    mount(file, target, 'erofs', MS.RDONLY | MS.NODEV | MS.NOATIME);
  } catch (error) {
    if (errnoOf(error) !== 'ENOTBLK') throw error;
    const loop = attachLoop(file, { readonly: true, directIo: false });
    try {
      mount(loop.path, target, 'erofs', MS.RDONLY | MS.NODEV | MS.NOATIME);
    } finally {
      closeSync(loop.fd);
    }
  }
}
