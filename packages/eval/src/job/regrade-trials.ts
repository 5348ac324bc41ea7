import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { VivError } from '@vivarium/sdk';
import type { Task } from '../task/index.ts';
import type { TrialContext } from '../trial/context.ts';
import { regradeTrial } from '../trial/regrade-trial.ts';
import { JobDirectory } from './directory.ts';
import { endSandboxes } from './lease.ts';
import type { TrialKind } from './run-job.ts';

/** Trials that grade what another job saved: no agent runs. */
export function regradeTrials(context: TrialContext): TrialKind {
  const { id, regradeOf, regradeTests } = context.job.vivarium;
  const source = JobDirectory.open(regradeOf!);
  const sourceId = source.config.vivarium.id;
  const testsOf = (task: Task) => (regradeTests === null ? null : testsIn(regradeTests, task));
  return {
    prepare: async (task) => context.images.verifiers(task, testsOf(task)),
    attempt: async (run) => {
      const original = source.trialResult(run.planned.trial_name);
      if (!original) throw new VivError('trial_not_found', `trial ${run.planned.trial_name} has not finished`);
      const verifiers = await context.images.verifiers(run.task, testsOf(run.task));
      return regradeTrial(context, { ...run, original, sourceId, verifiers });
    },
    clear: async (planned) => {
      await endSandboxes(context.viv, { 'viv.job': id, 'viv.trial': planned.trial_name });
    },
  };
}

/** `DIR/<task>/tests`, `DIR/<task>` or DIR itself: the first that holds a test.sh. */
export function testsIn(dir: string, task: Task): string {
  const names = [basename(task.dir), task.id, task.id.split('/').at(-1)!];
  const places = [...names.flatMap((name) => [join(dir, name, 'tests'), join(dir, name)]), join(dir, 'tests'), dir];
  const found = places.find((place) => existsSync(join(place, 'test.sh')));
  if (found !== undefined) return found;
  throw new VivError('task_invalid', `${dir} holds no tests of task ${task.id}`, {
    hint: `Looked for test.sh in ${places.slice(0, 2).join(', ')}, …`,
  });
}
