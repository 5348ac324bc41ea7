import { existsSync, writeFileSync } from 'node:fs';
import { MS, mount, umount } from '../../native/mount.ts';
import { paths } from './place.ts';

export type BindCrun = { runDir: string; crun: string };

/**
 * Runs in the spawner: shows crun on a read-only mount of our namespace. So that a container cannot overwrite it through
 * /proc/self/exe (CVE-2019-5736), crun re-executes itself from a read-only binding unless it is on one already.
 */
export function bindCrun({ runDir, crun }: BindCrun): string {
  const target = paths.crun(runDir);
  if (!existsSync(target)) writeFileSync(target, '', { mode: 0o700 });
  while (umount(target));
  mount(crun, target, null, MS.BIND);
  mount('', target, null, MS.BIND | MS.REMOUNT | MS.RDONLY);
  return target;
}
