const DISTANCE_MAX = 3;

/** The candidate that a misspelt name most likely meant, or undefined. */
export function nearest(name: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map((candidate) => ({ candidate, away: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, away }) => away <= Math.min(DISTANCE_MAX, candidate.length / 2))
    .sort((a, b) => a.away - b.away);
  return ranked[0]?.candidate;
}

/** Levenshtein's distance, over one row; both names are short (fields of a schema). */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > DISTANCE_MAX) return DISTANCE_MAX + 1;
  let row = Array.from({ length: b.length + 1 }, (_, n) => n);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length]!;
}
