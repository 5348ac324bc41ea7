/**
 * `npm run bench:eval [-- --only rewards,rate --state-dir DIR --keep]`: the bars of tasks, trials and images, measured on this machine in one run
 * against a node of its own. Prints a table and ends with one line of JSON.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Vivarium } from '@vivarium/sdk';
import { TaskSet } from '../test/harness/task-set.ts';
import { type Bars, report } from './bars.ts';
import { buildBench } from './eval/build.ts';
import { crashResume } from './eval/crash-resume.ts';
import { ociBench } from './eval/oci.ts';
import { packBench } from './eval/pack.ts';
import { type EvalBed, rewardMeans, trialRate } from './eval/trials.ts';
import { openTestbed, type Testbed } from './node/testbed.ts';
import { chosen, type Measured, measure, type Section } from './sections.ts';

const BARS: Bars = {
  oracle_reward_mean: ['==', 1],
  nop_reward_mean: ['==', 0],
  cheat_reward_mean: ['==', 0],
  trials_per_min: ['>=', 120],
  trial_overhead_ms_p50: ['<=', 250],
  pack_ms_p50: ['<=', 250],
  pack_bytes_ratio: ['<=', 1.2],
  build_cached_ms: ['<=', 500],
  import_oci_mib_s: ['>=', 40],
  resume_twice: ['==', 0],
  resume_lost: ['==', 0],
  regrade_per_min: ['>=', 200],
};

const RESUME_TRIALS = 200;
const BACK_MS = 60_000;

const { values: flags } = parseArgs({
  options: {
    only: { type: 'string' },
    'state-dir': { type: 'string', default: '/var/lib/vivarium-bench-eval' },
    keep: { type: 'boolean', default: false },
  },
});

const sectionsOf = (bed: EvalBed, node: Testbed): Record<string, Section> => ({
  rewards: () => rewardMeans(bed),
  rate: () => trialRate(bed),
  pack: () => packBench(bed.viv, node.image),
  build: () => buildBench(bed.viv, node.image),
  oci: () => ociBench(bed.viv, node.image),
  resume: async () => {
    using set = new TaskSet();
    const dir = set.task('resume', 'one');
    return await crashResume({ ...bed, crash: () => crash(bed, node) }, { dir, jobs: bed.jobs, count: RESUME_TRIALS });
  },
});

const node = await openTestbed(flags['state-dir']);
const jobs = mkdtempSync(join(tmpdir(), 'viv-bench-eval-'));
const viv = new Vivarium({ url: node.url, apiKey: node.key, retryMs: BACK_MS });
let measured: Measured;
try {
  const sections = sectionsOf({ url: node.url, key: node.key, viv, jobs }, node);
  measured = await measure(chosen(sections, flags.only));
} finally {
  viv.close();
  node.http.close();
  rmSync(jobs, { recursive: true, force: true });
  if (!flags.keep) await node.stop();
}
report('eval', BARS, measured);

/** SIGKILL to the server; its holder starts another one. */
async function crash(bed: EvalBed, node: Testbed): Promise<void> {
  const pid = node.serverPid();
  process.kill(pid, 'SIGKILL');
  for (const end = Date.now() + BACK_MS; ; await sleep(50)) {
    const back = node.serverPid() !== pid && (await bed.viv.node().catch(() => null)) !== null;
    if (back) return;
    if (Date.now() > end) throw new Error('the server did not come back');
  }
}
