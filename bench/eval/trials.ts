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
  const nop = { agent: 'nop' };
  mustFail(await evaluate(bed, nop));
  const full = await evaluate(bed, { ...nop, attempts: ATTEMPTS, keep: true });
  const alone = await evaluate(bed, { ...nop, attempts: 2, concurrent: 1 });
  mustFail(full);
  mustFail(alone);
  const started = performance.now();
  const regraded = await regrade(bed, full.directory);
  return {
    trials_per_min: full.trials.length / (full.ms / 60_000),
    trial_overhead_ms_p50: quantile(full.overheads, 0.5),
    trial_overhead_alone_ms_p50: quantile(alone.overheads, 0.5),
    regrade_per_min: regraded / ((performance.now() - started) / 60_000),
  };
}

/** Every trial was graded, and doing nothing solved none. */
function mustFail({ trials }: { trials: readonly TrialResult[] }): void {
  const odd = trials.find(({ vivarium }) => vivarium.outcome !== 'failed');
  if (odd)
    throw new Error(`${odd.trial_name} ended as ${odd.vivarium.outcome}: ${odd.exception_info?.exception_message}`);
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
  const freed = new Map<string, number>();
  await runJob(directory, tasks, {
    viv: bed.viv,
    connection: { url: bed.url, apiKey: bed.key },
    onEvent: (event) => {
      if (event.type === 'freed') freed.set(event.trial.trial_name, Date.now());
    },
  });
  const ms = performance.now() - started;
  const trials = directory.trialResults();
  for (const trial of trials) mustMeasure(trial);
  return { directory, trials, ms, overheads: trials.map((trial) => overhead(trial, freed.get(trial.trial_name)!)) };
}

/** What a trial takes beside agent and tests until its sandboxes have ended: `overheadMs` counts to the grade alone. */
function overhead({ started_at, vivarium: { timings } }: TrialResult, freedAt: number): number {
  return freedAt - Date.parse(started_at) - timings.agentMs - timings.testMs;
}

/** A trial that the machine or its image kept from running is no measurement, least of all a fast one. */
function mustMeasure({ trial_name, vivarium, exception_info }: TrialResult): void {
  if (['infra_error', 'build_error', 'refused'].includes(vivarium.outcome))
    throw new Error(`${trial_name} ended as ${vivarium.outcome}: ${exception_info?.exception_message}`);
}

async function regrade(bed: EvalBed, source: JobDirectory): Promise<number> {
  const id = `bench-${process.pid}-${++count}`;
  const { directory, tasks } = await startRegrade(source, { id, tests: null, concurrent: AT_ONCE, jobName: id });
  await runJob(directory, tasks, { viv: bed.viv, connection: { url: bed.url, apiKey: bed.key } });
  const trials = directory.trialResults();
  for (const trial of trials) mustMeasure(trial);
  return trials.length;
}

/** An agent whose cheat broke the verifier earned nothing. */
function meanReward(trials: readonly TrialResult[]): number {
  const rewards = trials.map(({ verifier_result }) => verifier_result?.rewards.reward ?? 0);
  return rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length;
}
