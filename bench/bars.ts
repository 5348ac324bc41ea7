import type { Measured } from './sections.ts';

/** field → [comparison, bar]. */
export type Bars = Record<string, ['<=' | '>=' | '==', number]>;

/** The table, a line of JSON, and the exit code: a section that failed is an error, a bar that is not held says so. */
export function report(bench: string, bars: Bars, { results, failed }: Measured): void {
  printBars(bars, results);
  const rounded = Object.entries(results).map(([field, value]) => [field, Number(value.toFixed(3))]);
  console.log(JSON.stringify({ bench, ...Object.fromEntries(rounded), failed }));
  process.exitCode = failed.length === 0 ? 0 : 1;
}

/** What was measured, beside what is asked for; fields without a bar too. */
function printBars(bars: Bars, results: Record<string, number>): void {
  console.log(`${'field'.padEnd(32)} ${'measured'.padStart(12)} ${'bar'.padStart(10)}  held`);
  for (const [field, value] of Object.entries(results)) {
    const bar = bars[field];
    const held = bar === undefined ? '' : holds(value, bar) ? 'yes' : 'NO';
    const asked = bar === undefined ? '' : `${bar[0]} ${bar[1]}`;
    console.log(`${field.padEnd(32)} ${value.toFixed(2).padStart(12)} ${asked.padStart(10)}  ${held}`);
  }
}

function holds(value: number, [comparison, bar]: Bars[string]): boolean {
  if (comparison === '==') return value === bar;
  return comparison === '<=' ? value <= bar : value >= bar;
}
