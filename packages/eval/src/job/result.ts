import { type Rewards, scoreOf, TRIAL_OUTCOMES, type TrialOutcome } from '../trial/outcome.ts';
import type { TrialResult } from '../trial/result.ts';
import type { JobConfig } from './config.ts';
import { ksUpTo, passAtK } from './pass-at-k.ts';

/** result.json of a job. */
export type JobResult = {
  id: string;
  started_at: string;
  updated_at: string;
  /** Null while it runs or when it was interrupted. */
  finished_at: string | null;
  n_total_trials: number;
  stats: JobStats;
  vivarium: { outcomes: Partial<Record<TrialOutcome, number>>; suspect: number; perTask: TaskStats[] };
};

export type JobStats = {
  n_completed_trials: number;
  n_errored_trials: number;
  n_pending_trials: number;
  evals: Record<string, EvalStats>;
};

/** Of one agent, model and task set. */
export type EvalStats = {
  n_trials: number;
  /** Trials that say nothing about the agent: their reward is missing, not 0. */
  n_errors: number;
  /**
   * `mean` of the scores; `strict`: the same with 0 for trials whose agent or verifier failed so that there is no reward, while failures
   * of the machinery and of the task stay out; `rewards`: mean per reward key over the trials that have it.
   */
  metrics: { mean: number | null; strict: number | null; rewards: Record<string, number> };
  /** Keyed by k; over the tasks that have k graded attempts. */
  pass_at_k: Record<string, number>;
  reward_stats: Record<string, Record<string, string[]>>;
  exception_stats: Record<string, string[]>;
};

export type TaskStats = {
  task: string;
  trials: number;
  passed: number;
  errors: number;
  meanScore: number | null;
  outcomes: Partial<Record<TrialOutcome, number>>;
};

/** Outcomes that can carry a grade. All others are counted as errors and stay out of means. */
const GRADED: ReadonlySet<TrialOutcome> = new Set<TrialOutcome>(['passed', 'failed', 'agent_timeout', 'agent_error']);

/** A trial's score, or null when there is no grade: then it says nothing about the agent. */
export function gradedScore(result: TrialResult): number | null {
  if (!GRADED.has(result.vivarium.outcome)) return null;
  const rewards = result.verifier_result?.rewards;
  return rewards ? scoreOf(rewards) : null;
}

/** Sums up what is there so far. Pure: the same results in the same order give the same document. */
export function jobResult(
  config: JobConfig,
  results: readonly TrialResult[],
  total: number,
  times: { startedAt: string; updatedAt: string; finishedAt: string | null },
): JobResult {
  const errored = results.filter((result) => gradedScore(result) === null);
  return {
    id: config.vivarium.id,
    started_at: times.startedAt,
    updated_at: times.updatedAt,
    finished_at: times.finishedAt,
    n_total_trials: total,
    stats: {
      n_completed_trials: results.length,
      n_errored_trials: errored.length,
      n_pending_trials: total - results.length,
      evals: { [evalKey(config)]: evalStats(results) },
    },
    vivarium: {
      outcomes: countOutcomes(results),
      suspect: results.filter((result) => result.vivarium.suspect).length,
      perTask: [...byTask(results)].map(([task, its]) => taskStats(task, its)),
    },
  };
}

/** `agent__model__dataset`; without a model `agent__dataset`. */
export function evalKey(config: JobConfig): string {
  const [agent] = config.agents;
  const dataset = config.datasets[0]!.path.split('/').filter(Boolean).at(-1) ?? 'tasks';
  return [agent!.name, agent!.model_name?.split('/').at(-1), dataset].filter((part) => part).join('__');
}

/** How many trials had each outcome; outcomes that none had are left out. */
export function countOutcomes(results: readonly TrialResult[]): Partial<Record<TrialOutcome, number>> {
  const counts: Partial<Record<TrialOutcome, number>> = {};
  for (const outcome of TRIAL_OUTCOMES) {
    const count = results.filter((result) => result.vivarium.outcome === outcome).length;
    if (count > 0) counts[outcome] = count;
  }
  return counts;
}

function evalStats(results: readonly TrialResult[]): EvalStats {
  const scores = results.map(gradedScore).filter((score) => score !== null);
  const stats: EvalStats = {
    n_trials: results.length,
    n_errors: results.length - scores.length,
    metrics: { mean: mean(scores), strict: mean(strictScores(results)), rewards: meanPerKey(results) },
    pass_at_k: passAtKs(results),
    reward_stats: {},
    exception_stats: {},
  };
  for (const result of results) {
    for (const [key, value] of Object.entries(result.verifier_result?.rewards ?? {})) {
      listed(own(stats.reward_stats, key, {}), String(value)).push(result.trial_name);
    }
    const type = result.exception_info?.exception_type;
    if (type !== undefined) listed(stats.exception_stats, type).push(result.trial_name);
  }
  return stats;
}

/** An agent that leaves what can't be graded (and so a verifier_error) gains nothing by it here. */
function strictScores(results: readonly TrialResult[]): number[] {
  const MAY_BE_THE_AGENTS: readonly TrialOutcome[] = ['agent_error', 'agent_timeout', 'verifier_error'];
  return results.flatMap((result) => {
    const score = gradedScore(result);
    if (score !== null) return [score];
    return MAY_BE_THE_AGENTS.includes(result.vivarium.outcome) ? [0] : [];
  });
}

/** Each task weighs the same. A k for which some task has too few graded attempts is left out. */
function passAtKs(results: readonly TrialResult[]): Record<string, number> {
  const tasks = [...byTask(results).values()].map((its) => {
    const scores = its.map(gradedScore).filter((score) => score !== null);
    return { n: scores.length, c: scores.filter((score) => score >= 1).length };
  });
  const graded = tasks.filter(({ n }) => n > 0);
  if (graded.length === 0) return {};
  const most = Math.min(...graded.map(({ n }) => n));
  return Object.fromEntries(ksUpTo(most).map((k) => [k, mean(graded.map(({ n, c }) => passAtK(n, c, k)))!]));
}

function taskStats(task: string, results: readonly TrialResult[]): TaskStats {
  const scores = results.map(gradedScore).filter((score) => score !== null);
  return {
    task,
    trials: results.length,
    passed: results.filter((result) => result.vivarium.outcome === 'passed').length,
    errors: results.length - scores.length,
    meanScore: mean(scores),
    outcomes: countOutcomes(results),
  };
}

function byTask(results: readonly TrialResult[]): Map<string, TrialResult[]> {
  const tasks = new Map<string, TrialResult[]>();
  for (const result of results) tasks.set(result.task_name, [...(tasks.get(result.task_name) ?? []), result]);
  return tasks;
}

function meanPerKey(results: readonly TrialResult[]): Rewards {
  const values = new Map<string, number[]>();
  for (const result of results)
    for (const [key, value] of Object.entries(result.verifier_result?.rewards ?? {}))
      values.set(key, [...(values.get(key) ?? []), value]);
  return Object.fromEntries([...values].map(([key, all]) => [key, mean(all)!]));
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

function listed(lists: Record<string, string[]>, key: string): string[] {
  return own(lists, key, []);
}

/** A verifier names its rewards as it likes, also `__proto__` or `constructor`. */
function own<T>(object: Record<string, T>, key: string, preset: T): T {
  if (!Object.hasOwn(object, key))
    Object.defineProperty(object, key, { value: preset, enumerable: true, writable: true, configurable: true });
  return object[key]!;
}
