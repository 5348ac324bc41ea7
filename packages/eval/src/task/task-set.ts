import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { VivError } from '@vivarium/sdk/error.ts';
import { nearest } from '@vivarium/sdk/nearest.ts';
import { taskInvalid } from './complaint.ts';
import { TASK_FILE } from './config-reader.ts';
import { loadTask } from './load-task.ts';
import { matches } from './pattern.ts';
import type { Task, TaskWarning } from './task.ts';

const TASKS_MAX = 100_000;

/** Patterns and names match a task's id, the last part of it, and its folder's name. */
export type TaskFilter = { include?: string[]; exclude?: string[]; names?: string[] };
/** A set may hold tasks that can't run: they are told beside the ones that can. */
export type TaskSet = { dir: string; name: string; tasks: Task[]; broken: BrokenTask[]; warnings: TaskWarning[] };
export type BrokenTask = { folder: string; dir: string; error: VivError };

/**
 * The tasks of a set, sorted by folder: the directory's immediate children that hold a task.toml, or the directory itself
 * when it does. Throws `task_invalid` when there is none, when a filter leaves none, when a name is unknown, and when two
 * have one id.
 */
export async function loadTaskSet(directory: string, filter: TaskFilter = {}): Promise<TaskSet> {
  const dir = await realpath(directory).catch(() => undefined);
  if (dir === undefined) throw new VivError('invalid_argument', `there is no directory ${directory}`);
  const warnings: TaskWarning[] = [];
  const folders = await foldersOf(dir, warnings);
  if (folders.length === 0) {
    const hint = `A task is a directory with a ${TASK_FILE}; a set is a directory of those.`;
    throw taskInvalid({ file: directory }, `holds no task (no ${TASK_FILE} in it or in a directory of it)`, hint);
  }
  const tasks: Task[] = [];
  const broken: BrokenTask[] = [];
  for (const path of folders) {
    try {
      tasks.push(await loadTask(path));
    } catch (error) {
      broken.push({ folder: basename(path), dir: path, error: VivError.from(error) });
    }
  }
  refuseTwins(tasks);
  return { dir, name: basename(dir), ...select(directory, tasks, broken, filter), warnings };
}

async function foldersOf(dir: string, warnings: TaskWarning[]): Promise<string[]> {
  if (await isTask(dir)) return [dir];
  const names = (await readdir(dir)).sort();
  if (names.length > TASKS_MAX) throw taskInvalid({ file: dir }, `holds more than ${TASKS_MAX} entries`);
  const found: string[] = [];
  for (const name of names) {
    if (await isTask(join(dir, name))) found.push(join(dir, name));
    else if (await isFile(join(dir, name, 'instruction.md')))
      warnings.push({ file: name, field: null, message: `has an instruction.md but no ${TASK_FILE}: it is no task` });
  }
  return found;
}

const isTask = (dir: string) => isFile(join(dir, TASK_FILE));

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (file) => file.isFile(),
    () => false,
  );
}

function refuseTwins(tasks: Task[]): void {
  const seen = new Map<string, Task>();
  for (const task of tasks) {
    const twin = seen.get(task.id);
    if (twin !== undefined) {
      const both = `${basename(twin.dir)} and ${basename(task.dir)}`;
      const place = { file: `${basename(task.dir)}/${TASK_FILE}`, field: 'task.name' };
      throw taskInvalid(place, `two tasks are named "${task.id}": ${both}`, 'Give one of them another [task] name.');
    }
    seen.set(task.id, task);
  }
}

function select(directory: string, tasks: Task[], broken: BrokenTask[], filter: TaskFilter) {
  const known = [...tasks.map(labels), ...broken.map(({ folder }) => [folder])];
  for (const name of filter.names ?? []) {
    if (known.some((item) => item.includes(name))) continue;
    const guess = nearest(name, known.flat());
    const hint = guess === undefined ? undefined : `Did you mean "${guess}"?`;
    throw taskInvalid({ file: directory }, `holds no task named "${name}"`, hint);
  }
  const wanted = (item: string[]) =>
    (!isFilled(filter.names) || filter.names.some((name) => item.includes(name))) &&
    (!isFilled(filter.include) || matchesAny(item, filter.include)) &&
    !matchesAny(item, filter.exclude ?? []);
  const kept = {
    tasks: tasks.filter((task) => wanted(labels(task))),
    broken: broken.filter(({ folder }) => wanted([folder])),
  };
  if (kept.tasks.length + kept.broken.length > 0) return kept;
  const hint = `There are ${known.length}: ${known
    .map((item) => item[0])
    .slice(0, 20)
    .join(', ')}`;
  throw taskInvalid({ file: directory }, `none of its ${known.length} tasks is selected by the patterns`, hint);
}

const labels = (task: Task) => [task.id, task.id.split('/').at(-1)!, basename(task.dir)];
const matchesAny = (item: string[], patterns: string[]) =>
  patterns.some((pattern) => item.some((label) => label === pattern || matches(label, pattern)));
const isFilled = (list: string[] | undefined): list is string[] => list !== undefined && list.length > 0;
