import { openBed } from '../../test/e2e/e2b/methods/bed.ts';
import { METHOD_CHECKS } from '../../test/e2e/e2b/methods/index.ts';
import { documentedMethods } from '../../test/harness/client-table.ts';
import type { E2bClient } from '../../test/harness/e2b.ts';

/** Rows of docs/e2b.md that say so themselves or whose check fails. */
export async function methodsMissing(client: E2bClient): Promise<Record<string, number>> {
  const bed = await openBed(client);
  const missing = documentedMethods()
    .filter(({ state }) => state === 'no')
    .map(({ method }) => method);
  for (const [method, check] of Object.entries(METHOD_CHECKS)) {
    try {
      await check(bed);
    } catch (error) {
      missing.push(method);
      process.stderr.write(`  ${method}: ${String(error).slice(0, 300)}\n`);
    }
  }
  await bed.close();
  return { methods_missing: new Set(missing).size };
}
