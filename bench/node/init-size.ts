import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Testbed } from './testbed.ts';

/** Size of the binary, and resident set of an idle PID 1 (one that has just run a command). */
export async function initSize(bed: Testbed): Promise<Record<string, number>> {
  const { id } = await bed.http.create(bed.image);
  await bed.http.exec(id, ['true']);
  let rss = Number.NaN;
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const status = readFileSync(`/proc/${entry}/status`, 'utf8');
      if (/^Name:\tviv-init$/m.test(status) && /NSpid:\t\d+\t1$/m.test(status))
        rss = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
    } catch {
      // Ended meanwhile.
    }
  }
  await bed.http.kill(id);
  return {
    init_rss_kib: rss,
    init_size_kib: statSync(join(import.meta.dirname, '../../guest/build/viv-init')).size / 1024,
  };
}
