const EDITS_MAX = 3;
/** Longer ones are no slips of a finger; names come from outside. */
const LENGTH_MAX = 128;

/**
 * The candidate that a misspelt name most likely meant, or undefined: the one with the fewest edits, at most three and half its length. Capitals
 * do not count.
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = EDITS_MAX + 1;
  for (const candidate of candidates) {
    if (Math.abs(name.length - candidate.length) >= least || candidate.length > LENGTH_MAX) continue;
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (edits < least && edits <= candidate.length / 2) [best, least] = [candidate, edits];
  }
  return best;
}

/** Letters added, left out, replaced, or swapped with their neighbour (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let above: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, replaced, isSwap ? above[j - 2]! + 1 : replaced);
    }
    [above, row] = [row, next];
  }
  return row[b.length]!;
}
