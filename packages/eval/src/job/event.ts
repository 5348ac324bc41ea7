import type { Phase } from '../trial/context.ts';
import type { TrialResult } from '../trial/result.ts';
import type { PlannedTrial } from './plan.ts';

/** What a running job tells whoever shows it. */
export type JobEvent =
  | { type: 'begin'; total: number; done: TrialResult[] }
  | { type: 'phase'; trial: PlannedTrial; phase: Phase }
  | { type: 'trial'; trial: PlannedTrial; result: TrialResult }
  /** What the trial held has been given back: its sandboxes have ended, and the next one begins. */
  | { type: 'freed'; trial: PlannedTrial }
  | { type: 'retry'; trial: PlannedTrial; message: string }
  | { type: 'image'; task: string; text: string }
  | { type: 'warning'; text: string };
