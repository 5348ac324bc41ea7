/**
 * `error`: grades of this task can't be trusted, or it does not work. `warning`: look at it. `note`: good to know.
 */
export type Severity = 'error' | 'warning' | 'note';

/** One thing that validation found; `rule` is stable, for programs. */
export type Finding = {
  severity: Severity;
  rule: FindingRule;
  message: string;
  /** Relative to the task. */
  file?: string;
  line?: number;
};

export type FindingRule =
  | 'format'
  | 'no_oracle'
  | 'no_agent_timeout'
  | 'no_reward_written'
  | 'installs_at_grade_time'
  | 'changes_system_at_grade_time'
  | 'answer_in_environment'
  | 'answer_in_image'
  | 'answer_in_history'
  | 'history_beyond_head'
  | 'build_failed'
  | 'could_not_run'
  | 'oracle_fails'
  | 'nop_passes'
  | 'flaky'
  | 'near_time_limit'
  | 'near_memory_limit'
  | 'not_checked';

/** Errors first, else as found. */
export function bySeverity(findings: readonly Finding[]): Finding[] {
  const order: Severity[] = ['error', 'warning', 'note'];
  return order.flatMap((severity) => findings.filter((finding) => finding.severity === severity));
}
