import { nearest } from '@vivarium/sdk/nearest.ts';
import type { z } from 'zod';
import { taskInvalid } from './complaint.ts';
import type { TaskWarning } from './task.ts';
import { dotted, type TomlFile } from './toml-file.ts';

/** An unknown key can hide further ones only one level deeper, and tables are at most this deep. */
const ROUNDS_MAX = 8;
const PROBLEMS_MAX = 20;

/**
 * `data` (of `toml`) by a strict schema. Unknown keys are left out with a warning that says what was likely meant, except
 * where `sealed` says that they are an error. All else that is wrong: `task_invalid` with every problem in its details.
 */
export function strictParse<T extends z.ZodType>(
  schema: T,
  data: Record<string, unknown>,
  toml: TomlFile,
  warnings: TaskWarning[],
  sealed: readonly string[],
): z.output<T> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const result = schema.safeParse(data, { reportInput: true });
    if (result.success) return result.data;
    const { issues } = result.error;
    const unknown = issues.filter((issue) => issue.code === 'unrecognized_keys');
    if (unknown.length === 0 || unknown.some(({ path }) => sealed.includes(String(path[0])))) {
      throw complaint(schema, unknown.length === 0 ? issues : unknown, toml);
    }
    for (const { path, keys } of unknown) {
      const table = at(data, path as (string | number)[]);
      for (const key of keys) {
        delete table[key];
        const field = dotted([...(path as (string | number)[]), key]);
        warnings.push({ file: toml.file, field, message: `is unknown and ignored${meant(schema, path, key)}` });
      }
    }
  }
  throw taskInvalid({ file: toml.file }, 'is nested too deeply');
}

function complaint(schema: z.ZodType, issues: z.core.$ZodIssue[], toml: TomlFile) {
  const problems = issues.slice(0, PROBLEMS_MAX).map((issue) => {
    const path = issue.path as (string | number)[];
    if (issue.code !== 'unrecognized_keys') return { path, message: wording(issue) };
    const key = issue.keys[0]!;
    return { path: [...path, key], message: `is unknown${meant(schema, path, key)}` };
  });
  const first = problems[0]!;
  const place = { file: toml.file, field: dotted(first.path), line: toml.lineOf(first.path) };
  const error = taskInvalid(place, first.message);
  const all = problems.map(({ path, message }) => ({ field: dotted(path), line: toml.lineOf(path), message }));
  Object.assign(error.details, { problems: all });
  return error;
}

function wording(issue: z.core.$ZodIssue): string {
  const message = issue.message.replace(/^Invalid input: /, '').replace(/^Invalid option: /, '');
  const given = issue.input;
  if (given === undefined || typeof given === 'object') return message;
  return `${message.replace(/, received .*/, '')}, got ${JSON.stringify(given)?.slice(0, 100)}`;
}

function meant(schema: z.ZodType, path: PropertyKey[], key: string): string {
  const guess = nearest(key, fieldsAt(schema, path));
  return guess === undefined ? '' : `; did you mean "${guess}"?`;
}

/** The fields that the schema knows at a path. */
function fieldsAt(schema: z.ZodType, path: PropertyKey[]): string[] {
  let current: unknown = schema;
  for (const part of path) {
    const open = bare(current);
    current = typeof part === 'number' ? open?.element : open?.shape?.[part as string];
  }
  return Object.keys(bare(current)?.shape ?? {});
}

type Inner = { shape?: Record<string, unknown>; element?: unknown; unwrap?: () => unknown; out?: unknown };
function bare(schema: unknown): Inner | undefined {
  const given = schema as Inner | undefined;
  // What is read only after a change of its form (z.preprocess).
  const inner = given?.shape === undefined && given?.out !== undefined ? (given.out as Inner) : given;
  return inner?.shape === undefined && inner?.element === undefined && inner?.unwrap !== undefined
    ? (inner.unwrap() as Inner)
    : inner;
}

function at(data: Record<string, unknown>, path: (string | number)[]): Record<string, unknown> {
  return path.reduce<unknown>((value, part) => (value as Record<string | number, unknown>)[part], data) as Record<
    string,
    unknown
  >;
}
