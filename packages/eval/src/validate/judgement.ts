import type { Task } from '../task/task.ts';
import { scoreOf } from '../trial/outcome.ts';
import type { Finding } from './finding.ts';
import type { ValidationRun } from './report.ts';

/** A reward of at least this is a pass, as in `viv eval`. */
const PASS = 1;
/** How near a limit is too near: another machine, or a busy one, might not do. */
const TIME_SHARE = 0.5;
const HEADROOM_PCT = 20;

/** What the runs say about the task: does the oracle pass, always; does doing nothing fail; are the limits ample? */
export function judge(task: Task, runs: readonly ValidationRun[]): Finding[] {
  const failed = runs.find(({ outcome }) => outcome === 'build_error');
  if (failed !== undefined) return [{ severity: 'error', rule: 'build_failed', message: said(failed) }];
  const stuck = runs.find(({ outcome }) => outcome === 'infra_error' || outcome === 'refused');
  if (stuck !== undefined) return [{ severity: 'error', rule: 'could_not_run', message: said(stuck) }];
  const oracle = runs.filter(({ agent }) => agent === 'oracle');
  const nop = runs.filter(({ agent }) => agent === 'nop');
  return [...judgeOracle(oracle), ...judgeNop(nop), ...judgeTimes(task, oracle, nop), ...judgeMemory(runs)];
}

function judgeOracle(runs: readonly ValidationRun[]): Finding[] {
  const passes = runs.filter((run) => score(run) >= PASS && run.outcome === 'passed');
  if (runs.length === 0 || passes.length === runs.length) return unsteady(runs);
  const worst = runs.find((run) => !passes.includes(run))!;
  const how = `${worst.outcome}${worst.rewards === null ? '' : ` with ${JSON.stringify(worst.rewards)}`}`;
  const why = worst.message === null ? '' : `: ${worst.message}`;
  if (passes.length === 0)
    return [{ severity: 'error', rule: 'oracle_fails', message: `the task’s own solution is ${how}${why}` }];
  const message = `the same solution passed ${passes.length} of ${runs.length} times; once it was ${how}${why}`;
  return [{ severity: 'error', rule: 'flaky', message }];
}

/** All pass, with different rewards. */
function unsteady(runs: readonly ValidationRun[]): Finding[] {
  const rewards = [...new Set(runs.map((run) => JSON.stringify(run.rewards)))];
  if (rewards.length < 2) return [];
  return [{ severity: 'warning', rule: 'flaky', message: `the rewards differ from run to run: ${rewards.join(', ')}` }];
}

/** A verifier that can't grade what was left alone would fail an agent that does nothing as if it were broken. */
function judgeNop(runs: readonly ValidationRun[]): Finding[] {
  return runs.flatMap((run): Finding[] => {
    if (score(run) > 0) {
      const severity = score(run) >= PASS ? 'error' : 'warning';
      return [{ severity, rule: 'nop_passes', message: `doing nothing scores ${JSON.stringify(run.rewards)}` }];
    }
    if (run.outcome !== 'verifier_error') return [];
    const message = `doing nothing is a verifier_error, not reward 0: ${run.message ?? 'no reward'}`;
    return [{ severity: 'warning', rule: 'could_not_run', message }];
  });
}

function judgeTimes(task: Task, oracle: readonly ValidationRun[], nop: readonly ValidationRun[]): Finding[] {
  const single = task.steps.length === 0;
  const agentLimit = single ? task.config.agent.timeoutMs : sumOrNull(task.steps.map(({ agent }) => agent.timeoutMs));
  const testLimit = single
    ? task.config.verifier.timeoutMs
    : task.steps.reduce((sum, { verifier }) => sum + verifier.timeoutMs, 0);
  const agentMs = Math.max(0, ...oracle.map((run) => run.agentMs));
  const testMs = Math.max(0, ...[...oracle, ...nop].map((run) => run.testMs));
  return [
    ...nearTime('the solution', 'agent.timeout_sec', agentMs, agentLimit),
    ...nearTime('the verifier', 'verifier.timeout_sec', testMs, testLimit),
  ];
}

function nearTime(who: string, field: string, ms: number, limit: number | null): Finding[] {
  if (limit === null || ms < limit * TIME_SHARE) return [];
  const message = `${who} took ${(ms / 1000).toFixed(1)} s of the ${limit / 1000} s of ${field}`;
  return [{ severity: 'warning', rule: 'near_time_limit', message }];
}

function judgeMemory(runs: readonly ValidationRun[]): Finding[] {
  const tight = runs.find(({ memoryHeadroomPct }) => memoryHeadroomPct !== null && memoryHeadroomPct < HEADROOM_PCT);
  if (tight === undefined) return [];
  const left = `${Math.round(tight.memoryHeadroomPct!)} % of environment.memory_mb were left`;
  const message = `${tight.agent} used up to ${Math.round(tight.memoryPeakMiB ?? 0)} MiB; ${left}`;
  return [{ severity: 'warning', rule: 'near_memory_limit', message }];
}

const score = ({ rewards }: ValidationRun) => (rewards === null ? 0 : scoreOf(rewards));
const said = ({ outcome, message }: ValidationRun) => message ?? outcome;

function sumOrNull(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>((sum, value) => (sum === null || value === null ? null : sum + value), 0);
}
