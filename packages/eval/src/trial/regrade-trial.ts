import { join } from 'node:path';
import type { TrialContext } from './context.ts';
import { stepPart, trialImage } from './image-name.ts';
import { LogBudget } from './log-files.ts';
import { type AgentFailure, outcomeOf, stopFor, type TrialStop } from './outcome.ts';
import { TrialRecord } from './record.ts';
import type { TrialResult } from './result.ts';
import type { TrialRun } from './run-trial.ts';
import { gradeArtifacts } from './separate.ts';
import { trialLabels, workdirOf } from './settings.ts';
import { combineRewards, stepsOf } from './steps.ts';
import type { PreparedTask } from './task-images.ts';
import { type Grade, gradeRequest, toGrade } from './verification.ts';

export type Regrade = TrialRun & {
  original: TrialResult;
  /** Id of the job that the trial was run in. */
  sourceId: string;
  verifiers: Pick<PreparedTask, 'graders' | 'separate'>;
};

/** Grades what a trial saved once more. What was never graded (no image, refused, no state kept) stays as it was. */
export async function regradeTrial(context: TrialContext, run: Regrade): Promise<TrialResult> {
  const { planned, task, original } = run;
  const dir = join(context.jobDir, planned.trial_name);
  const record = TrialRecord.begin(dir, planned, context.job, context.agent.info);
  if (original.vivarium.images.state === null) return unchanged(original, run, 'kept no state');
  const { services, servicesInVerifier } = task.config.vivarium;
  if (original.vivarium.verification?.mode === 'in_place' && services.length > 0 && !servicesInVerifier)
    return unchanged(original, run, 'was graded beside live services, which no state keeps');
  record.agentResult = original.agent_result;
  record.agentFailure = agentFailure(original);
  Object.assign(record.images, original.vivarium.images, { grader: run.verifiers.graders[0] ?? null });
  let stop: TrialStop | null = null;
  const budget = new LogBudget();
  try {
    run.onPhase?.('verify');
    const grades = await record.span('verifier', () => gradeSteps(context, run, dir, budget));
    for (const grade of grades) record.testMs += grade.testMs;
    record.verification = grades.at(-1)?.details ?? null;
    const all = grades.map(({ rewards }) => rewards);
    record.rewards = all.includes(null) ? null : combineRewards(task.config.multiStepRewardStrategy, all);
  } catch (error) {
    context.signal.throwIfAborted();
    stop = stopFor(error, 'verify');
    record.log(`${stop.outcome}: ${stop.message}`);
  }
  record.notes.push(...budget.notes);
  const result = record.result(stop?.outcome ?? outcomeOf(record.agentFailure, record.rewards, true), {
    source: context.source,
    checksum: task.checksum,
    stop,
    earlierTries: run.earlierTries,
    multiStep: false,
  });
  const { environment_setup, agent_setup, agent_execution, agent_info, vivarium } = original;
  return {
    ...result,
    environment_setup,
    agent_setup,
    agent_execution,
    agent_info,
    vivarium: { ...result.vivarium, treatment: vivarium.treatment, regradeOf: original.trial_uri },
  };
}

/** One after the other, as they were run; those that the trial did not come to have no state. */
async function gradeSteps(context: TrialContext, run: Regrade, dir: string, budget: LogBudget): Promise<Grade[]> {
  const grades: Grade[] = [];
  const count = run.original.step_results?.length ?? 1;
  for (const index of stepsOf(run.task).slice(0, count).keys())
    grades.push(await gradeStep(context, run, index, dir, budget));
  return grades;
}

async function gradeStep(
  context: TrialContext,
  { task, planned, original, sourceId, verifiers, onEnding }: Regrade,
  index: number,
  dir: string,
  budget: LogBudget,
): Promise<Grade> {
  const step = stepsOf(task)[index]!;
  const part = stepPart(step, index);
  const labels = trialLabels(context.job, planned.trial_name, task);
  const taskImage = original.vivarium.images.task;
  const workdir = workdirOf(task, taskImage && (await context.viv.images.get(taskImage.name).catch(() => null)));
  const grader = verifiers.graders[index] ?? null;
  const options = { task, step, grader, workdir, labels, last: true, budget, onEnding };
  const stepDir = step.name === null ? dir : join(dir, 'steps', step.name);
  const separate = verifiers.separate[index];
  if (separate) {
    const state = trialImage(sourceId, planned.trial_name, part);
    const from = await context.lease.create({ image: state, labels }, { signal: context.signal });
    return gradeArtifacts(context, from, separate, { ...options, dir: stepDir });
  }
  const image = trialImage(sourceId, planned.trial_name, `${part}-graded`);
  const { protect: _, ...request } = gradeRequest(context, { ...options, dir: stepDir });
  const before = original.step_results?.[index]?.vivarium ?? original.vivarium.verification;
  return toGrade(await context.viv.verify({ ...request, image, loaderCache: before?.loaderCache ?? true }));
}

function agentFailure({ vivarium, exception_info }: TrialResult): AgentFailure | null {
  const { outcome } = vivarium;
  if (outcome !== 'agent_timeout' && outcome !== 'agent_error') return null;
  return { type: outcome, message: exception_info?.exception_message ?? outcome };
}

function unchanged(original: TrialResult, run: Regrade, why: string): TrialResult {
  return {
    ...original,
    config: { ...original.config, attempt: run.planned.attempt },
    vivarium: {
      ...original.vivarium,
      regradeOf: original.trial_uri,
      notes: [...original.vivarium.notes, `${why}: not graded again`],
    },
  };
}
