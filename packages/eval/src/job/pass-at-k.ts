/**
 * The unbiased estimate of the chance that at least one of k samples passes, from n samples of which c passed:
 * 1 − C(n−c, k) / C(n, k) (Chen et al. 2021, "Evaluating Large Language Models Trained on Code"). NaN-free for 1 ≤ k ≤ n.
 */
export function passAtK(n: number, c: number, k: number): number {
  if (n - c < k) return 1;
  let missAll = 1;
  for (let i = n - c + 1; i <= n; i++) missAll *= 1 - k / i;
  return 1 - missAll;
}

/** 1, then powers of two and multiples of five, up to n. */
export function ksUpTo(n: number): number[] {
  const ks = new Set<number>();
  if (n >= 1) ks.add(1);
  for (let k = 2; k <= n; k *= 2) ks.add(k);
  for (let k = 5; k <= n; k += 5) ks.add(k);
  return [...ks].sort((a, b) => a - b);
}
