import { rmSync } from 'node:fs';
import { umount } from '../../native/mount.ts';
import { paths } from './place.ts';

/** The container has its own view of the root by now, and we never ask crun about it again. */
export function tidyAfterStart(runDir: string, id: string): void {
  umount(paths.root(runDir, id));
  for (const path of [paths.root(runDir, id), paths.bundle(runDir, id), paths.crunCell(runDir, id)])
    rmSync(path, { recursive: true, force: true });
}
