import { renameSync, rmdirSync, rmSync, unlinkSync } from 'node:fs';
import { umount } from '../../native/mount.ts';
import { paths } from './place.ts';

/**
 * Removes what only the start of a cell needs: the container has its own view of the root by now, and we never ask crun
 * about it again. Whatever is missing is fine.
 */
export function tidyAfterStart(runDir: string, id: string): void {
  const root = paths.root(runDir, id);
  umount(root);
  ignoreMissing(() => rmdirSync(root));
  ignoreMissing(() => renameSync(paths.bootId(runDir, id), paths.booted(runDir)));
  ignoreMissing(() => unlinkSync(paths.booted(runDir)));
  for (const path of [paths.config, paths.log, paths.pidFile]) ignoreMissing(() => unlinkSync(path(runDir, id)));
  removeState(paths.crunCell(runDir, id));
}

/** Names make this several times cheaper than a recursive removal, which is for whatever another crun may leave. */
function removeState(dir: string): void {
  for (const name of ['status', 'config.json']) ignoreMissing(() => unlinkSync(`${dir}/${name}`));
  try {
    rmdirSync(dir);
  } catch {
    rmSync(dir, { recursive: true, force: true });
  }
}

function ignoreMissing(action: () => void): void {
  try {
    action();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
