import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { VivError } from '@vivarium/sdk';
import { JobDirectory } from './directory.ts';
import type { PlannedTrial } from './plan.ts';
import { testsIn } from './regrade-trials.ts';
import type { LoadedTask } from './run-job.ts';
import { reloadTasks, type StartedJob } from './start.ts';

const REGRADES_MAX = 10_000;

/**
 * A new job beside `source` that grades the saved state of each of its finished trials with the tests as they are now, or
 * with those in `tests`. `runJob` runs it; it can be resumed like any other.
 */
export async function startRegrade(
  source: JobDirectory,
  options: { id: string; tests: string | null; concurrent?: number; jobName?: string },
): Promise<StartedJob> {
  const config = source.config;
  if (config.vivarium.regradeOf !== null)
    throw new VivError('invalid_argument', `${source.path} is a regrade itself`, {
      hint: `Grade ${config.vivarium.regradeOf} again instead.`,
    });
  const plan = source.plan;
  const trials = plan.trials.filter(({ trial_name }) => source.trialResult(trial_name) !== undefined);
  if (trials.length === 0) throw new VivError('invalid_argument', `no trial of ${source.path} has finished`);
  const { tasks } = await reloadTasks(source);
  const tests = options.tests === null ? null : resolve(options.tests);
  if (tests !== null) checkTests(tests, trials, tasks);
  const jobsDir = dirname(source.path);
  const name = options.jobName ?? freeName(jobsDir, basename(source.path));
  const directory = JobDirectory.create(jobsDir, name);
  const details = {
    ...config.vivarium,
    id: options.id,
    regradeOf: source.path,
    regradeTests: tests,
  };
  directory.begin(
    {
      ...config,
      job_name: name,
      jobs_dir: jobsDir,
      n_concurrent_trials: options.concurrent ?? config.n_concurrent_trials,
      verifier: { ...config.verifier, disable: false },
      vivarium: details,
    },
    { ...plan, created_at: new Date().toISOString(), trials },
  );
  return { directory, tasks };
}

/** Every task has tests there: a job that can't end is not begun. */
function checkTests(dir: string, trials: readonly PlannedTrial[], tasks: ReadonlyMap<string, LoadedTask>): void {
  if (!existsSync(dir)) throw new VivError('invalid_argument', `there is no directory ${dir}`);
  for (const path of new Set(trials.map(({ task_path }) => task_path))) {
    const task = tasks.get(path);
    if (task && !(task instanceof VivError)) testsIn(dir, task);
  }
}

function freeName(jobsDir: string, job: string): string {
  for (let n = 1; n < REGRADES_MAX; n++) {
    const name = `${job}__regrade-${n}`;
    if (!existsSync(join(jobsDir, name))) return name;
  }
  throw new VivError('job_exists', `${job} has been graded again ${REGRADES_MAX} times`);
}
