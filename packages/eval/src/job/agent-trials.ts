import { type Vivarium, VivError } from '@vivarium/sdk';
import type { Task } from '../task/index.ts';
import type { TrialContext } from '../trial/context.ts';
import { stepPart, trialImage } from '../trial/image-name.ts';
import { runTrial } from '../trial/run-trial.ts';
import { stepsOf } from '../trial/steps.ts';
import { endSandboxes } from './lease.ts';
import type { PlannedTrial } from './plan.ts';
import type { TrialKind } from './run-job.ts';

/** Trials in which an agent works. */
export function agentTrials(context: TrialContext): TrialKind {
  const jobId = context.job.vivarium.id;
  return {
    prepare: (task) => context.images.prepare(task),
    attempt: (run) => runTrial(context, run),
    clear: async (planned, task) => {
      await endSandboxes(context.viv, { 'viv.job': jobId, 'viv.trial': planned.trial_name });
      for (const name of imagesOf(jobId, planned, task)) await removeImage(context.viv, name);
    },
  };
}

function imagesOf(jobId: string, planned: PlannedTrial, task: Task): string[] {
  const parts = stepsOf(task).map(stepPart);
  return parts.flatMap((part) => [part, `${part}-graded`]).map((part) => trialImage(jobId, planned.trial_name, part));
}

/** Fine when it is not there. */
export async function removeImage(viv: Vivarium, name: string): Promise<void> {
  await viv.images.remove(name).catch((error: unknown) => {
    if (VivError.from(error).code !== 'image_not_found') throw error;
  });
}
