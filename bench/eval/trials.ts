import { join } from 'node:path';
import { agentConfig, type JobDirectory, runJob, startJob, startRegrade, type TrialResult } from '@vivarium/eval';
import type { Vivarium } from '@vivarium/sdk';
import { listCheats, TASKS } from '../../test/harness/cheats.ts';
import { quantile } from '../node/samples.ts';

/** A node with its base image, and a directory for jobs. */
export type EvalBed = { url: string; key: string; viv: Vivarium; jobs: string };

const AT_ONCE = 8;
const ATTEMPTS = 16;
let count = 0;

/** The shipped tasks with their own solutions, with nothing done, and with every cheat that fits: mean rewards. */
export async function rewardMeans(bed: EvalBed): Promise<Record<string, number>> {
  const oracle = await evaluate(bed, { agent: 'oracle' });
  const nop = await evaluate(bed, { agent: 'nop' });
  const cheats: TrialResult[] = [];
  for (const { task, command } of listCheats()) {
    const path = task === null ? TASKS : join(TASKS, task);
    cheats.push(...(await evaluate(bed, { agent: command, path })).trials);
  }
  return {
    oracle_reward_mean: meanReward(oracle.trials),
    nop_reward_mean: meanReward(nop.trials),
    cheat_reward_mean: meanReward(cheats),
    cheat_trials: cheats.length,
  };
}

/** Trials of the shipped tasks in which nothing is done, images built: how many a minute, and what a trial costs beside its tests. */
export async function trialRate(bed: EvalBed): Promise<Record<string, number>> {
  await evaluate(bed, { agent: 'nop' });
  const full = await evaluate(bed, { agent: 'nop', attempts: ATTEMPTS, keep: true });
  const alone = await evaluate(bed, { agent: 'nop', attempts: 2, concurrent: 1 });
  const overhead = (trials: TrialResult[]) =>
    quantile(
      trials.map((each) => each.vivarium.timings.overheadMs),
      0.5,
    );
  const started = performance.now();
  const regraded = await regrade(bed, full.directory);
  return {
    trials_per_min: full.trials.length / (full.ms / 60_000),
    trial_overhead_ms_p50: overhead(full.trials),
    trial_overhead_alone_ms_p50: overhead(alone.trials),
    regrade_per_min: regraded / ((performance.now() - started) / 60_000),
  };
}

type Request = { agent: string; path?: string; attempts?: number; concurrent?: number; keep?: boolean };

async function evaluate(
  bed: EvalBed,
  { agent, path = TASKS, attempts = 1, concurrent = AT_ONCE, keep = false }: Request,
) {
  const id = `bench-${process.pid}-${++count}`;
  const { directory, tasks } = await startJob({
    path,
    id,
    jobName: id,
    jobsDir: bed.jobs,
    agent: agentConfig(agent),
    attempts,
    concurrent,
    details: { keepState: keep },
  });
  const started = performance.now();
  await runJob(directory, tasks, { viv: bed.viv, connection: { url: bed.url, apiKey: bed.key } });
  return { directory, trials: directory.trialResults(), ms: performance.now() - started };
}

async function regrade(bed: EvalBed, source: JobDirectory): Promise<number> {
  const id = `bench-${process.pid}-${++count}`;
  const { directory, tasks } = await startRegrade(source, { id, tests: null, concurrent: AT_ONCE, jobName: id });
  await runJob(directory, tasks, { viv: bed.viv, connection: { url: bed.url, apiKey: bed.key } });
  return directory.trialResults().filter(({ vivarium }) => vivarium.outcome === 'failed').length;
}

/** Every trial has to have a grade: one without is told, not left out. */
function meanReward(trials: readonly TrialResult[]): number {
  const rewards = trials.map(({ trial_name, vivarium, verifier_result }) => {
    const reward = verifier_result?.rewards.reward;
    // An agent whose cheat broke the verifier earned nothing; a machine that failed is no measurement.
    if (vivarium.outcome === 'infra_error' || vivarium.outcome === 'build_error')
      throw new Error(`${trial_name} ended as ${vivarium.outcome}`);
    return reward ?? 0;
  });
  return rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
}
