import { VivError } from '@vivarium/sdk/error.ts';

/** Where in a task something is: `file` relative to the task, `field` dotted as in TOML. */
export type Place = { file: string; field?: string | undefined; line?: number | undefined };

/** `task_invalid`: the task breaks the format. The message starts with file, line and field. */
export function taskInvalid(place: Place, message: string, hint?: string, cause?: unknown): VivError {
  return new VivError('task_invalid', `${describe(place)}: ${message}`, { hint, details: { ...place }, cause });
}

/** `task_refused`: the task is sound and asks for what is not offered here. `field` is never left out. */
export function taskRefused(place: Place & { field: string }, message: string, hint?: string): VivError {
  return new VivError('task_refused', `${describe(place)}: ${message}`, { hint, details: { ...place } });
}

/** The same error, naming the task (its directory or id) it is about. */
export function inTask(task: string, error: unknown): VivError {
  const known = VivError.from(error);
  return new VivError(known.code, `${task}/${known.message}`, {
    hint: known.hint,
    details: { ...known.details, task },
    fault: known.fault,
    cause: known,
  });
}

function describe({ file, field, line }: Place): string {
  const where = line === undefined ? file : `${file}:${line}`;
  return field === undefined || field === file ? where : `${where}: ${field}`;
}
