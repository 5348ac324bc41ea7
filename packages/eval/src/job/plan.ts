import { VivError } from '@vivarium/sdk';
import { JOB_LIMITS } from './config.ts';

/** One trial that the job is going to have. */
export type PlannedTrial = { trial_name: string; task_id: string; task_path: string; attempt: number };

/** lock.json: what was resolved when the job began. `resume` follows it and never plans again. */
export type JobPlan = {
  schema_version: '1';
  created_at: string;
  tasks: PlannedTask[];
  trials: PlannedTrial[];
};

/** `error`: the task could not be loaded or is refused; its trials say so. */
export type PlannedTask = { id: string; path: string; checksum: string };

const NAME_CHARS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';

/**
 * Every attempt at every task, first attempts first: a task that is broken shows early. Names are Harbor's
 * `<task ≤ 32>__<7 random>`. Throws `invalid_argument` when there is nothing to do or far too much.
 */
export function planTrials(
  tasks: readonly PlannedTask[],
  attempts: number,
  now: Date,
  random: () => number = Math.random,
): JobPlan {
  if (tasks.length === 0) throw new VivError('invalid_argument', 'there are no tasks to run');
  if (tasks.length * attempts > JOB_LIMITS.trials)
    throw new VivError('invalid_argument', `${tasks.length} tasks × ${attempts} attempts are too many trials`, {
      hint: `At most ${JOB_LIMITS.trials} in one job: choose tasks with -i, or split it.`,
    });
  const used = new Set<string>();
  const trials: PlannedTrial[] = [];
  for (let attempt = 1; attempt <= attempts; attempt++) {
    for (const task of tasks) {
      let name: string;
      do name = trialName(task.id, random);
      while (used.has(name.toLowerCase()));
      used.add(name.toLowerCase());
      trials.push({ trial_name: name, task_id: task.id, task_path: task.path, attempt });
    }
  }
  return { schema_version: '1', created_at: now.toISOString(), tasks: [...tasks], trials };
}

/** Only what a file system takes: `org/name` gives its last part. */
export function trialName(taskId: string, random: () => number): string {
  const short = taskId
    .split('/')
    .at(-1)!
    .replaceAll(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, 32);
  const suffix = Array.from({ length: 7 }, () => NAME_CHARS[Math.floor(random() * NAME_CHARS.length)]).join('');
  return `${short || 'task'}__${suffix}`;
}
