import type { Rewards, TrialOutcome } from '../trial/outcome.ts';
import type { Finding } from './finding.ts';

/** One run of the oracle or of nop. */
export type ValidationRun = {
  agent: 'oracle' | 'nop';
  outcome: TrialOutcome;
  rewards: Rewards | null;
  /** Why there are none, or what went wrong. */
  message: string | null;
  agentMs: number;
  testMs: number;
  /** Of the agent's sandbox, when the node told. */
  memoryPeakMiB: number | null;
  memoryHeadroomPct: number | null;
};

export type TaskReport = {
  id: string;
  dir: string;
  checksum: string;
  /** No finding is an error. */
  ok: boolean;
  runs: ValidationRun[];
  findings: Finding[];
};

/** `broken`: what is no sound task. `ok`: all of it. */
export type ValidationReport = {
  set: string;
  ok: boolean;
  tasks: TaskReport[];
  broken: { folder: string; code: string; message: string; hint: string }[];
};
