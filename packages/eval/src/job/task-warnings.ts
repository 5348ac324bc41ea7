import type { Task, TaskSet, TaskWarning } from '../task/index.ts';

const LINES_MAX = 20;

/** What is odd about the tasks of a job, a line each and bounded: a field with a typing mistake must not be ignored unseen. */
export function taskWarnings({ tasks, warnings }: Pick<TaskSet, 'warnings'> & { tasks: readonly Task[] }): string[] {
  const lines = [
    ...warnings.map(text),
    ...tasks.flatMap(({ id, warnings: own }) => own.map((warning) => `${id}: ${text(warning)}`)),
  ];
  if (lines.length <= LINES_MAX) return lines;
  const more = lines.length - LINES_MAX;
  return [...lines.slice(0, LINES_MAX), `… and ${more} more: viv task validate --static lists them`];
}

function text({ file, field, message }: TaskWarning): string {
  return `${file}: ${field === null ? '' : `${field} `}${message}`;
}
