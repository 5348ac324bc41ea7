import type { CreateOptions, Image } from '@vivarium/sdk';
import type { JobConfig } from '../job/config.ts';
import type { EnvironmentConfig, Task } from '../task/index.ts';
import { stepsOf, type TrialStep } from './steps.ts';

/** A trial without a time limit of its own ends after this long. */
const UNLIMITED_S = 7 * 86_400;
const TTL_MAX_S = 30 * 86_400;
/** For starting, packing and collecting, beside the phases' own time limits. */
const MARGIN_S = 3600;
const LABEL_CHARS = 255;
const TIMEOUT_MAX_MS = 30 * 86_400_000;

/** On all sandboxes of a trial. */
export function trialLabels(job: JobConfig, trialName: string, task: Task): Record<string, string> {
  return { 'viv.job': job.vivarium.id, 'viv.trial': trialName, 'viv.task': task.id.slice(0, LABEL_CHARS) };
}

/** Where agent and tests begin: as the task says, else its image. */
export function workdirOf(task: Task, image: Pick<Image, 'config'> | null): string {
  return task.environment.config.workdir ?? image?.config.cwd ?? '/';
}

/** What a sandbox of this environment may use. What neither task nor job says is the node's default. */
export function limitsFor(environment: EnvironmentConfig, job: JobConfig): NonNullable<CreateOptions['limits']> {
  const { override_cpus, override_memory_mb, override_storage_mb } = job.environment;
  const cpus = override_cpus ?? environment.cpus;
  const memoryMiB = override_memory_mb ?? environment.memoryMiB;
  const diskMiB = override_storage_mb ?? environment.storageMiB;
  return {
    ...(cpus !== null && { cpus }),
    ...(memoryMiB !== null && { memoryMiB }),
    ...(diskMiB !== null && { diskMiB }),
  };
}

/** Undefined: none. */
export function agentTimeoutMs(step: TrialStep, job: JobConfig): number | undefined {
  if (step.agent.timeoutMs === null) return undefined;
  return scaled(step.agent.timeoutMs, job.agent_timeout_multiplier ?? job.timeout_multiplier);
}

export function verifierTimeoutMs(step: TrialStep, job: JobConfig): number {
  return scaled(step.verifier.timeoutMs, job.verifier_timeout_multiplier ?? job.timeout_multiplier);
}

/** Long enough for every phase of the trial: no sandbox runs out of time while a grade is made. */
export function ttlS(task: Task, job: JobConfig): number {
  let total = MARGIN_S;
  for (const step of stepsOf(task)) {
    const agent = agentTimeoutMs(step, job);
    if (agent === undefined) return UNLIMITED_S;
    total += (agent + verifierTimeoutMs(step, job)) / 1000;
  }
  return Math.min(TTL_MAX_S, Math.ceil(total));
}

function scaled(ms: number, by: number): number {
  return Math.min(TIMEOUT_MAX_MS, Math.max(1, Math.round(ms * by)));
}
