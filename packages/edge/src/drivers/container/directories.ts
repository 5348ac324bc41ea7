import { chmodSync, mkdirSync, readFileSync } from 'node:fs';
import { parseMountInfo } from '../../limits/mountinfo.ts';
import { MS, mount } from '../../native/mount.ts';
import { paths } from './place.ts';

const TEMPORARY_OPTIONS = 'size=256m,mode=711';

/**
 * Runs in the spawner: makes the run directory's parts. Mapped users must reach root file systems and viv-init; all else
 * is ours alone.
 */
export function openDirectories({ runDir }: { runDir: string }): void {
  mkdirSync(runDir, { recursive: true });
  chmodSync(runDir, 0o711);
  const temporary = paths.temporary(runDir);
  mkdirSync(temporary, { recursive: true });
  if (!isMounted(temporary)) mount('tmpfs', temporary, 'tmpfs', MS.NOSUID | MS.NODEV, TEMPORARY_OPTIONS);
  makeDirectory(paths.roots(runDir), 0o711);
  makeDirectory(paths.empty(runDir), 0o555);
  for (const dir of [paths.sockets, paths.bundles, paths.crunState, paths.lowers]) makeDirectory(dir(runDir), 0o700);
}

function makeDirectory(path: string, mode: number): void {
  mkdirSync(path, { recursive: true });
  chmodSync(path, mode);
}

function isMounted(target: string): boolean {
  return parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')).some((entry) => entry.target === target);
}
