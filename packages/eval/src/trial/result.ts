import { type Tampering, type Treatment, VivError } from '@vivarium/sdk';
import type { Rewards, TrialOutcome } from './outcome.ts';

/** A stretch of a trial, RFC 3339. */
export type Span = { started_at: string; finished_at: string };

export type ExceptionInfo = {
  exception_type: string;
  exception_message: string;
  exception_traceback: string;
  occurred_at: string;
};

export type AgentInfo = {
  name: string;
  version: string;
  model_info: { name: string; provider: string | null } | null;
};

/** result.json of a trial: Harbor's keys, and ours in the API's casing below `vivarium`. */
export type TrialResult = {
  id: string;
  task_name: string;
  trial_name: string;
  trial_uri: string;
  task_id: { path: string };
  source: string | null;
  task_checksum: string;
  config: TrialConfig;
  agent_info: AgentInfo;
  agent_result: AgentResult | null;
  verifier_result: { rewards: Rewards } | null;
  exception_info: ExceptionInfo | null;
  started_at: string;
  finished_at: string;
  environment_setup: Span | null;
  agent_setup: Span | null;
  agent_execution: Span | null;
  verifier: Span | null;
  step_results: StepResult[] | null;
  vivarium: TrialDetails;
};

/** config.json of a trial. */
export type TrialConfig = {
  task: { path: string };
  trial_name: string;
  trials_dir: string;
  job_id: string;
  attempt: number;
};

/** How the agent's command ended; token counts are the agent's to report (Harbor's keys, always null here). */
export type AgentResult = {
  n_input_tokens: number | null;
  n_cache_tokens: number | null;
  n_output_tokens: number | null;
  cost_usd: number | null;
  exit_code: number | null;
  outcome: string;
  duration_ms: number;
};

export type StepResult = {
  step_name: string;
  agent_result: AgentResult | null;
  verifier_result: { rewards: Rewards } | null;
  exception_info: ExceptionInfo | null;
  agent_execution: Span | null;
  verifier: Span | null;
  vivarium: VerificationDetails | null;
};

export type ImageUse = { name: string; digest: string | null };

/** Where and how the grade was made. */
export type VerificationDetails = {
  mode: 'fresh' | 'in_place' | 'separate';
  isolation: 'in_process' | 'black_box';
  rewardError: string | null;
  /** Changes outside the workspace that matter to a grade; bounded. */
  tampering: Tampering[];
  leftOut: string[];
  /** Of verify: `regrade` passes it on. */
  loaderCache: boolean;
  command: { outcome: string; exitCode: number | null; durationMs: number } | null;
  timings: Record<string, number>;
};

export type TrialDetails = {
  outcome: TrialOutcome;
  /** 1 … n_attempts. */
  attempt: number;
  images: {
    /** What the agent's sandbox was made from. */
    task: ImageUse | null;
    grader: string | null;
    /** The state it ended in, for `viv trial open`. */
    state: string | null;
    /** That state without protected paths: what was graded and what `regrade` takes. */
    graded: string | null;
  };
  verification: VerificationDetails | null;
  /** How the machine treated the agent's sandbox. */
  treatment: Treatment | null;
  /** The machine disturbed this trial: its result may say more about the host than about the agent. */
  suspect: boolean;
  suspectReasons: string[];
  /** Tries before this one, each ended by an infrastructure failure or marked suspect. */
  earlierTries: { outcome: TrialOutcome; message: string; at: string }[];
  /** Remarks: logs cut short, environment settings that don't hold here. */
  notes: string[];
  timings: {
    totalMs: number;
    agentMs: number;
    testMs: number;
    /** Of the time to the grade (`totalMs`), all but the agent's and the tests' own. The fresh sandbox ends after that. */
    overheadMs: number;
  };
  /** The trial that was graded again. */
  regradeOf?: string;
};

/** An error in the form the job format keeps it, bounded; `at` is RFC 3339. */
export function exceptionOf(error: VivError | Error, type: string, at: string): ExceptionInfo {
  return {
    exception_type: type,
    exception_message: explained(error).slice(0, 4000),
    exception_traceback: (error.stack ?? '').slice(0, 8000),
    occurred_at: at,
  };
}

const OUTPUT_CHARS = 2000;

/** The message, the end of what a step of a build said, and what can be done. The first line alone is for tables. */
export function explained(error: Error): string {
  if (!(error instanceof VivError)) return error.message;
  const { output } = error.details;
  const said = typeof output === 'string' && output.trim() !== '' ? [output.trimEnd().slice(-OUTPUT_CHARS)] : [];
  return [error.message, ...said, ...(error.hint ? [`hint: ${error.hint}`] : [])].join('\n');
}
