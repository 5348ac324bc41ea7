import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * A removed memory group (cgroup v1) stays half alive while pages are charged to it: those of image files that its cell was
 * the first to read. Emptying it before (memory.force_empty) costs milliseconds of a CPU, and throws out of the page cache just what the next
 * cell reads. So ended groups are left to the kernel's reclaim, until there are this many: each holds some 100 KiB.
 */
const DYING_MAX = 1024;
/** Removals between two looks. */
const LOOK_EVERY = 32;

let sinceLook = LOOK_EVERY;
let tooMany = false;

/** Must the memory group `dir`, about to be removed, be emptied first? */
export function mustEmpty(dir: string): boolean {
  if (++sinceLook < LOOK_EVERY) return tooMany;
  sinceLook = 0;
  tooMany = memoryGroups(readFileSync('/proc/cgroups', 'utf8')) - liveBeside(dir) > DYING_MAX;
  return tooMany;
}

/** How many memory groups the kernel has, dying ones included (the third column of proc_cgroups, cgroups(7)). */
export function memoryGroups(procCgroups: string): number {
  return Number(/^memory\t\d+\t(\d+)/m.exec(procCgroups)?.[1] ?? 0);
}

/** A directory's link count on cgroupfs is two plus its subdirectories. */
function liveBeside(dir: string): number {
  return statSync(dirname(dir)).nlink - 2;
}
