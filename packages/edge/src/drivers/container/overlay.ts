import { closeSync, existsSync, mkdirSync } from 'node:fs';
import { mount, mountIdmapped, umount } from '../../native/mount.ts';
import { openUserNamespace } from '../../native/user-namespace.ts';
import { ID_COUNT, idBase } from './id-range.ts';
import { paths } from './place.ts';

/** The kernel takes one page of mount options. */
export const LAYERS_MAX = 64;

/**
 * Mounts a cell's root file system: the layers below, each with its ids shifted into the cell's range, the scratch on
 * top. The shifted copies are needed only while the overlay takes its own references. Synchronous, so their
 * directories can be shared by all creates.
 *
 * `volatile`: nothing of a cell outlives a power cut, so no sync(2) of it has to reach the disk, above all not the one
 * that unmounting an overlay does otherwise. The other options keep the upper directory plain (no redirects, no
 * metadata-only copies), as `changes` and `pack` read it.
 */
export function mountRoot(options: {
  runDir: string;
  layers: string[];
  slot: number;
  scratch: string;
  target: string;
}): void {
  const { runDir, layers, scratch, target } = options;
  const namespace = openUserNamespace(idBase(options.slot), ID_COUNT);
  const mounted: string[] = [];
  try {
    for (const [index, layer] of layers.entries()) {
      const lower = paths.lower(runDir, index);
      if (!existsSync(lower)) mkdirSync(lower, { recursive: true });
      mountIdmapped(layer, lower, namespace);
      mounted.push(lower);
    }
    const lowerdir = [...mounted].reverse().join(':');
    const data = `lowerdir=${lowerdir},upperdir=${scratch}/upper,workdir=${scratch}/work`;
    mount('overlay', target, 'overlay', 0, `${data},volatile,index=off,metacopy=off,redirect_dir=off,xino=off`);
  } finally {
    closeSync(namespace);
    for (const lower of mounted) umount(lower);
  }
}
