import { existsSync, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { removeTree } from '../../limits/cell-group.ts';
import { basesOf } from '../../limits/hierarchy.ts';
import { deleteSubvolume } from '../../native/btrfs.ts';
import { umount } from '../../native/mount.ts';
import { destroyCell } from './destroy.ts';
import { type Place, paths } from './place.ts';
import { pruneQgroups } from './qgroups.ts';

export type Sweep = { place: Place; known: string[]; snapshots: string[] };

/** Runs in the spawner: removes every cell and snapshot that is not known. Returns the ids of the cells. What can't be removed keeps nothing else. */
export async function sweep({ place, known, snapshots }: Sweep): Promise<string[]> {
  unmountLowers(place.runDir);
  const keep = new Set(known);
  const swept: string[] = [];
  const failures: unknown[] = [];
  for (const [id, hierarchies] of leftovers(place)) {
    if (keep.has(id)) continue;
    try {
      for (const hierarchy of hierarchies) await destroyCell({ place: { ...place, hierarchy }, id });
      swept.push(id);
    } catch (error) {
      failures.push(error);
    }
  }
  sweepSnapshots(place.runDir, new Set(snapshots.map((path) => basename(path))));
  pruneQgroups(place.runDir);
  for (const hierarchy of place.bases.slice(0, -1)) for (const base of basesOf(hierarchy)) removeTree(base);
  if (failures.length > 0) throw failures[0];
  return swept.sort();
}

/** Ids of cells of which anything is there, with the hierarchies to look into. */
function leftovers(place: Place): Map<string, Place['bases']> {
  const found = new Map<string, Place['bases']>();
  const { runDir } = place;
  const dirs = [paths.cells, paths.roots, paths.crunState].flatMap((dir) => list(dir(runDir)));
  const files = [paths.sockets, paths.bundles].flatMap((dir) => list(dir(runDir)));
  for (const id of [...dirs, ...files.map((name) => name.replace(/\.\w+$/, ''))]) found.set(id, [place.hierarchy]);
  for (const hierarchy of place.bases)
    for (const id of new Set(basesOf(hierarchy).flatMap(listGroups))) {
      const others = (found.get(id) ?? []).filter((known) => basesOf(known)[0] !== basesOf(hierarchy)[0]);
      found.set(id, [...others, hierarchy]);
    }
  return found;
}

/** Spawners killed while they mounted leave copies of layers, perhaps several on one another. */
function unmountLowers(runDir: string): void {
  for (const name of list(paths.lowers(runDir))) while (umount(`${paths.lowers(runDir)}/${name}`));
}

function sweepSnapshots(runDir: string, keep: ReadonlySet<string>): void {
  const dir = paths.snapshots(runDir);
  for (const name of list(dir)) if (!keep.has(name)) deleteSubvolume(dir, name);
}

function listGroups(base: string): string[] {
  if (!existsSync(base)) return [];
  return readdirSync(base, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name);
}

function list(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir) : [];
}
