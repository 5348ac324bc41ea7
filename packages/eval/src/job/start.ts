import { resolve } from 'node:path';
import { VivError } from '@vivarium/sdk';
import { loadTask } from '../task/load-task.ts';
import { loadTaskSet } from '../task/task-set.ts';
import { type JobRequest, jobConfig } from './config.ts';
import { JobDirectory } from './directory.ts';
import { type PlannedTask, planTrials } from './plan.ts';
import type { LoadedTask } from './run-job.ts';
import { taskWarnings } from './task-warnings.ts';

export type StartedJob = {
  directory: JobDirectory;
  tasks: Map<string, LoadedTask>;
  /** What is odd about the tasks, to be shown before they run. */
  warnings?: string[];
};

/** Loads the tasks, plans the trials and makes the job's directory. Nothing runs yet: `runJob` does that. */
export async function startJob(request: JobRequest): Promise<StartedJob> {
  const path = resolve(request.path);
  const config = jobConfig({ ...request, path, jobsDir: resolve(request.jobsDir) });
  const filter = {
    ...(request.include && { include: request.include }),
    ...(request.exclude && { exclude: request.exclude }),
    ...(request.names && { names: request.names }),
  };
  const set = await loadTaskSet(path, filter);
  // With nothing that can run, the reason is the answer.
  if (set.tasks.length === 0) throw set.broken[0]!.error;
  const tasks = new Map<string, LoadedTask>();
  for (const task of set.tasks) tasks.set(task.dir, task);
  for (const { dir, error } of set.broken) tasks.set(dir, error);
  const planned: PlannedTask[] = [
    ...set.tasks.map(({ id, dir, checksum }) => ({ id, path: dir, checksum })),
    ...set.broken.map(({ folder, dir }) => ({ id: folder, path: dir, checksum: '' })),
  ].sort((a, b) => (a.path < b.path ? -1 : 1));
  const plan = planTrials(planned, config.n_attempts, new Date());
  const directory = JobDirectory.create(config.jobs_dir, config.job_name);
  directory.begin(config, plan);
  return { directory, tasks, warnings: taskWarnings(set) };
}

const NAMES_MAX = 100;

/** The same where nobody asked for the job's name: it gives way to a job that took it, as one begun in the same second. */
export async function startUnnamedJob(request: JobRequest): Promise<StartedJob> {
  for (let n = 1; ; n++) {
    try {
      return await startJob(n === 1 ? request : { ...request, jobName: `${request.jobName}-${n}` });
    } catch (error) {
      if (n === NAMES_MAX || VivError.from(error).code !== 'job_exists') throw error;
    }
  }
}

/** The tasks of an existing job as they are on disk now. `changed`: those that are not as they were when the job began. */
export async function reloadTasks(
  directory: JobDirectory,
): Promise<{ tasks: Map<string, LoadedTask>; changed: string[] }> {
  const tasks = new Map<string, LoadedTask>();
  const changed: string[] = [];
  for (const { id, path, checksum } of directory.plan.tasks) {
    const task = await loadTask(path).catch((error: unknown) => VivError.from(error));
    tasks.set(path, task);
    if (!(task instanceof VivError) && task.checksum !== checksum) changed.push(id);
  }
  return { tasks, changed };
}
