import type { GlobSet, GlobState } from '@vivarium/protocol/glob-set.ts';
import { type ChangeNode, directoryNode, leafNode, SPLIT } from './change-tree.ts';
import type { LowerEntry } from './lower.ts';
import { metadataOf } from './upper-file.ts';
import { whiteout } from './whiteout.ts';

/** Entries of the image looked at for one pack, so that no change is worth more work than this. */
export class Budget {
  #left: number;

  constructor(entries: number) {
    this.#left = entries;
  }

  spend(): void {
    if (--this.#left < 0) throw new RangeError('too many entries below a deleted directory');
  }
}

/**
 * What stands in the split image for a directory of the image that the sandbox deleted, when there are protected paths in it: all of it is
 * deleted but them. Null when there are none. `state`: the patterns behind its name.
 */
export function restoredDirectory(
  name: Buffer,
  parent: ChangeNode,
  lower: LowerEntry,
  patterns: readonly { set: GlobSet; state: GlobState }[],
  budget: Budget,
): ChangeNode | null {
  const metadata = metadataOf(lower.path, lower.stat, 0);
  const node = directoryNode(name, parent, metadata, metadata);
  let found = false;
  for (const child of lower.directory.names()) {
    budget.spend();
    const steps = patterns.map(({ set, state }) => ({ set, ...set.step(state, child.toString('latin1')) }));
    if (steps.some(({ matches }) => matches.length > 0)) {
      found = true;
      continue;
    }
    const entry = lower.directory.lookup(child);
    const further = steps.filter(({ state }) => state.length > 0);
    const isDirectory = entry?.stat.isDirectory() && further.length > 0;
    const inner = entry && isDirectory ? restoredDirectory(child, node, entry, further, budget) : null;
    if (inner) found = true;
    node.children.push(inner ?? leafNode(child, node, SPLIT, whiteout()));
  }
  return found ? node : null;
}
