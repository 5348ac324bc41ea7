import { gradedScore, type JobResult } from '../job/result.ts';
import { scoreOf } from '../trial/outcome.ts';
import type { TrialResult } from '../trial/result.ts';

/** `12 passed · 3 failed · 1 build_error`. */
export function outcomeLine(outcomes: JobResult['vivarium']['outcomes']): string {
  return (
    Object.entries(outcomes)
      .map(([outcome, count]) => `${count} ${outcome}`)
      .join(' · ') || 'nothing yet'
  );
}

/** What a person wants to know of a job that has ended, line by line. */
export function summaryLines(result: JobResult): string[] {
  const lines = [
    `${result.stats.n_completed_trials} of ${result.n_total_trials} trials: ${outcomeLine(result.vivarium.outcomes)}`,
  ];
  for (const [key, stats] of Object.entries(result.stats.evals)) {
    const mean = stats.metrics.mean === null ? 'no reward' : `mean reward ${formatScore(stats.metrics.mean)}`;
    const passAt = Object.entries(stats.pass_at_k).map(([k, value]) => `pass@${k} ${formatScore(value)}`);
    const errors = stats.n_errors > 0 ? [`${stats.n_errors} without a grade (not counted)`] : [];
    lines.push(`${key}: ${[mean, ...passAt, ...errors].join(', ')}`);
  }
  if (result.vivarium.suspect > 0) lines.push(`${result.vivarium.suspect} suspect: the host disturbed them`);
  return lines;
}

/** A reward as the tables show it. */
export function formatScore(score: number): string {
  return Number(score.toFixed(3)).toString();
}

/** A trial's reward as shown in lists: `1`, `0.5`, `-`. */
export function rewardText(result: TrialResult): string {
  const rewards = result.verifier_result?.rewards;
  if (!rewards) return '-';
  return formatScore(gradedScore(result) ?? scoreOf(rewards));
}

/** Why a trial did not pass, in a line; empty when it did. */
export function reasonText(result: TrialResult): string {
  return (result.exception_info?.exception_message ?? '').split('\n')[0]!;
}
