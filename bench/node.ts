/**
 * `npm run bench:node [-- --only create,exec --live 6000 --state-dir DIR]`: the node's bars, measured on this machine in one run against a node
 * of its own with the shipped security defaults. Prints a table and ends with one line of JSON.
 */
import { parseArgs } from 'node:util';
import { type Bars, printBars } from './bars.ts';
import { initSize } from './node/init-size.ts';
import { churn, createLatency, execLatency } from './node/latency.ts';
import { leaks } from './node/leaks.ts';
import { liveSandboxes } from './node/live.ts';
import { podmanChurn } from './node/podman.ts';
import { restart } from './node/restart.ts';
import { openTestbed, type Testbed } from './node/testbed.ts';
import { throughput } from './node/throughput.ts';

const BARS: Bars = {
  create_to_first_exec_ms_p50: ['<=', 30],
  create_to_first_exec_ms_p99: ['<=', 100],
  create_p99_ms_at_50: ['<=', 900],
  exec_ms_p50: ['<=', 3],
  exec_ms_p99: ['<=', 12],
  churn_per_s: ['>=', 90],
  vs_podman_churn: ['>=', 8],
  live_containers: ['>=', 6000],
  mem_per_sandbox_mib: ['<=', 2],
  create_rate_kept: ['>=', 0.6],
  server_rss_mib: ['<=', 700],
  stdout_mib_s: ['>=', 250],
  stdout_rss_growth_mib: ['<=', 64],
  download_mib_s: ['>=', 250],
  upload_vs_local_write: ['>=', 0.6],
  transfer_rss_growth_mib: ['<=', 64],
  init_rss_kib: ['<=', 300],
  init_size_kib: ['<=', 128],
  restart_adopted: ['>=', 500],
  restart_execs: ['>=', 50],
  leaks_after: ['<=', 0],
  leaks_rss_growth_mib: ['<=', 50],
};

type Section = (bed: Testbed, results: Record<string, number>) => Promise<Record<string, number>>;

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    live: { type: 'string', default: '6000' },
    cycles: { type: 'string', default: '5000' },
    'state-dir': { type: 'string', default: '/var/lib/vivarium-bench' },
    keep: { type: 'boolean', default: false },
  },
});

const SECTIONS: Record<string, Section> = {
  init: (bed) => initSize(bed),
  create: (bed) => createLatency(bed),
  exec: (bed) => execLatency(bed),
  churn: (bed) => churn(bed),
  podman: async (bed, results) => {
    const peer = await podmanChurn(bed);
    if (peer === null) return {};
    return {
      podman_churn_per_s: peer,
      ...(results.churn_per_s === undefined ? {} : { vs_podman_churn: results.churn_per_s / peer }),
    };
  },
  throughput: (bed) => throughput(bed),
  restart: (bed) => restart(bed),
  leaks: (bed) => leaks(bed, Number(flags.cycles)),
  live: (bed) => liveSandboxes(bed, Number(flags.live)),
};

const chosen = flags.only === undefined ? Object.keys(SECTIONS) : flags.only.split(',');
const results: Record<string, number> = {};
const failed: string[] = [];
const bed = await openTestbed(flags['state-dir']);
try {
  for (const name of chosen) {
    const section = SECTIONS[name];
    if (section === undefined) throw new Error(`no section ${name}; there are ${Object.keys(SECTIONS).join(', ')}`);
    process.stderr.write(`${name} …\n`);
    try {
      Object.assign(results, await section(bed, results));
    } catch (error) {
      failed.push(name);
      process.stderr.write(`  ${name} failed: ${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
} finally {
  bed.http.close();
  if (!flags.keep) await bed.stop();
}
printBars(BARS, results);
console.log(
  JSON.stringify({
    bench: 'node',
    ...Object.fromEntries(Object.entries(results).map(([k, v]) => [k, Number(v.toFixed(3))])),
    failed,
  }),
);
process.exitCode = failed.length === 0 ? 0 : 1;
