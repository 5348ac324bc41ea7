/** The value below which a share `q` (0 … 1) of the samples lies (nearest rank). */
export function quantile(samples: readonly number[], q: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(q * sorted.length) - 1)] ?? Number.NaN;
}

/** Runs `count` jobs, `width` at a time, in order of their number. Ends at the first failure. */
export async function inFlight(count: number, width: number, job: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await job(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, lane));
}

export async function timed<T>(job: () => Promise<T>): Promise<{ ms: number; value: T }> {
  const start = performance.now();
  const value = await job();
  return { ms: performance.now() - start, value };
}
