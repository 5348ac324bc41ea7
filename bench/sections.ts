/** One part of a benchmark: field → value. It is given what the parts before it measured. */
export type Section = (before: Record<string, number>) => Promise<Record<string, number>>;

export type Measured = { results: Record<string, number>; failed: string[] };

/** Those of the sections that `only` names (separated by commas), in that order; all without it. */
export function chosen(sections: Record<string, Section>, only: string | undefined): [string, Section][] {
  if (only === undefined) return Object.entries(sections);
  return only.split(',').map((name) => {
    const section = sections[name];
    if (section === undefined) throw new Error(`no section ${name}; there are ${Object.keys(sections).join(', ')}`);
    return [name, section];
  });
}

/** One after the other. One that fails is told of and keeps none from being measured. */
export async function measure(sections: readonly [string, Section][]): Promise<Measured> {
  const results: Record<string, number> = {};
  const failed: string[] = [];
  for (const [name, section] of sections) {
    process.stderr.write(`${name} …\n`);
    try {
      Object.assign(results, await section(results));
    } catch (error) {
      failed.push(name);
      process.stderr.write(`  ${name} failed: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
  return { results, failed };
}
