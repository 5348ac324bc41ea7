import { readdirSync, rmdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { NodePaths } from './paths.ts';

const ROOT = '/sys/fs/cgroup';
/** Deep enough for a node started in a user's session scope, nested in a container. */
const DEPTH_MAX = 10;
const TRIES = 50;
const TRY_MS = 20;

/**
 * Removes the node's base groups wherever below the cgroup mounts they are: each server made
 * them below the groups of the shell it was started from. Resolves to those that would not go (something lives in them).
 */
export async function removeControlGroups(paths: NodePaths): Promise<string[]> {
  const found = groupsNamed(paths.groupName, ROOT, DEPTH_MAX);
  const stuck: string[] = [];
  for (const group of found) {
    // A group whose last process is just being reaped is busy for a moment.
    for (let tries = 0; !removeTree(group); tries += 1) {
      if (tries === TRIES) {
        stuck.push(group);
        break;
      }
      await delay(TRY_MS);
    }
  }
  return stuck;
}

/** Directories of this name, without looking into those found. */
export function groupsNamed(name: string, root: string, depth: number): string[] {
  if (depth === 0) return [];
  return children(root).flatMap((child) => (basename(child) === name ? [child] : groupsNamed(name, child, depth - 1)));
}

/** Control groups go by rmdir, innermost first; their files can't be and need not be removed (cgroups(7)). */
function removeTree(group: string): boolean {
  for (const child of children(group)) removeTree(child);
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

function children(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => join(path, entry.name));
  } catch {
    return [];
  }
}
