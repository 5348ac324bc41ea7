import { reasonText, rewardText, type TrialResult } from '@vivarium/eval';
import { table } from './console.ts';
import { formatSeconds } from './units.ts';

/** Trials, one a line. */
export function trialTable(results: readonly TrialResult[]): string {
  const rows = results.map((result) => {
    const { outcome, timings, suspect } = result.vivarium;
    const remark = [...(suspect ? ['suspect'] : []), reasonText(result)].filter(Boolean).join('; ');
    return [
      result.trial_name,
      outcome,
      rewardText(result),
      formatSeconds(timings.totalMs / 1000),
      remark.slice(0, 100),
    ];
  });
  return table(['TRIAL', 'OUTCOME', 'REWARD', 'TIME', ''], rows);
}
