import type { Fleet } from './fleet.ts';

/** The demo's result on stdout: time per step, what went wrong, and the rate. */
export function printTable(fleet: Fleet, seconds: number): void {
  const rows = [...fleet.steps].map(([step, durations]) => [
    step,
    String(durations.length),
    quantile(durations, 0.5).toFixed(0),
    quantile(durations, 0.95).toFixed(0),
  ]);
  const head = ['step', 'done', 'median ms', 'p95 ms'];
  const widths = head.map((title, n) => Math.max(title.length, ...rows.map((row) => row[n]!.length)));
  for (const row of [head, ...rows]) {
    console.log(row.map((cell, n) => (n === 0 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!))).join('  '));
  }
  const total = fleet.right + fleet.failures.length;
  for (const { sandbox, step, reason } of fleet.failures.slice(0, 10))
    console.log(`sandbox ${sandbox}, ${step}: ${reason}`);
  console.log(
    `${total} sandboxes, ${fleet.right} with every result right, in ${seconds.toFixed(1)} s: ${(total / seconds).toFixed(1)} sandboxes/s`,
  );
}

/** The value below which the share `q` of the values lies (nearest rank). */
function quantile(values: number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))] ?? 0;
}
