import type { Phase } from '../trial/context.ts';
import type { TrialResult } from '../trial/result.ts';
import type { PlannedTrial } from './plan.ts';

/** What a running job tells whoever shows it. */
export type JobEvent =
  | { type: 'begin'; total: number; done: TrialResult[] }
  | { type: 'phase'; trial: PlannedTrial; phase: Phase }
  | { type: 'trial'; trial: PlannedTrial; result: TrialResult }
  | { type: 'retry'; trial: PlannedTrial; message: string }
  | { type: 'image'; task: string; text: string }
  | { type: 'warning'; text: string };
