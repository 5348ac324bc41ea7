/**
 * `npm run bench:node [-- --only create,exec --live 6000 --state-dir DIR]`: the node's bars, measured on this machine in one run against a node
 * of its own with the shipped security defaults. Prints a table and ends with one line of JSON.
 */
import { parseArgs } from 'node:util';
import { type Bars, report } from './bars.ts';
import { ForeignCpu } from './node/foreign-cpu.ts';
import { initSize } from './node/init-size.ts';
import { churn, createLatency, execLatency } from './node/latency.ts';
import { leaks } from './node/leaks.ts';
import { liveSandboxes } from './node/live.ts';
import { podmanChurn } from './node/podman.ts';
import { restart } from './node/restart.ts';
import { openTestbed, type Testbed } from './node/testbed.ts';
import { throughput } from './node/throughput.ts';
import { chosen, type Measured, measure, type Section } from './sections.ts';

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

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    live: { type: 'string', default: '6000' },
    cycles: { type: 'string', default: '5000' },
    'state-dir': { type: 'string', default: '/var/lib/vivarium-bench' },
    keep: { type: 'boolean', default: false },
  },
});

const sectionsOf = (bed: Testbed): Record<string, Section> => ({
  init: () => initSize(bed),
  create: () => createLatency(bed),
  exec: () => execLatency(bed),
  churn: () => churn(bed),
  podman: async (before) => {
    const peer = await podmanChurn(bed);
    if (peer === null) return {};
    return {
      podman_churn_per_s: peer,
      ...(before.churn_per_s === undefined ? {} : { vs_podman_churn: before.churn_per_s / peer }),
    };
  },
  throughput: () => throughput(bed),
  restart: () => restart(bed),
  leaks: () => leaks(bed, Number(flags.cycles)),
  live: () => liveSandboxes(bed, Number(flags.live), foreign),
});

const foreign = new ForeignCpu();
const bed = await openTestbed(flags['state-dir']);
let measured: Measured;
try {
  measured = await measure(chosen(sectionsOf(bed), flags.only));
} finally {
  bed.http.close();
  if (!flags.keep) await bed.stop();
}
report('node', BARS, measured);
