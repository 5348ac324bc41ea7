import { existsSync, mkdirSync } from 'node:fs';
import { relative } from 'node:path';
import { mount, mountIdmapped, umount } from '../../native/mount.ts';
import { paths } from './place.ts';

/** The kernel takes one page of mount options; a layer is named in at most 21 bytes of it. An image has up to 120, others may lie over it. */
export const LAYERS_MAX = 160;

/**
 * Mounts a cell's root file system: the layers below, each with its ids shifted into the cell's range, the scratch on
 * top. The shifted copies are needed only while the overlay takes its own references. Synchronous, so their
 * directories can be shared by all creates.
 *
 * `volatile`: nothing of a cell outlives a power cut, so no sync(2) of it has to reach the disk, above all not the one
 * that unmounting an overlay does otherwise. The other options keep the upper directory plain (no redirects, no
 * metadata-only copies), as `changes` and `pack` read it. The directories are named relative to the scratch: the sandbox
 * reads these options in /proc/mounts, and they shall tell it no path of the host and no id.
 */
export function mountRoot(root: {
  runDir: string;
  layers: string[];
  /** A descriptor of the cell's user namespace. */
  userNamespace: number;
  scratch: string;
  target: string;
}): void {
  const { runDir, layers, scratch, target } = root;
  const mounted: string[] = [];
  try {
    for (const [index, layer] of layers.entries()) {
      const lower = paths.lower(runDir, index);
      if (!existsSync(lower)) mkdirSync(lower, { recursive: true });
      mountIdmapped(layer, lower, root.userNamespace);
      mounted.push(lower);
    }
    const lowerdir = [...mounted]
      .reverse()
      .map((lower) => relative(scratch, lower))
      .join(':');
    const data = `lowerdir=${lowerdir},upperdir=upper,workdir=work`;
    const options = `${data},volatile,index=off,metacopy=off,redirect_dir=off,xino=off`;
    within(scratch, () => mount('overlay', target, 'overlay', 0, options));
  } finally {
    for (const lower of mounted) umount(lower);
  }
}

/** The spawner has no use for its working directory; it must not stay in a cell. */
function within(directory: string, action: () => void): void {
  process.chdir(directory);
  try {
    action();
  } finally {
    process.chdir('/');
  }
}
