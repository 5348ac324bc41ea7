import { VivError } from '@vivarium/protocol';
import { nearest } from '@vivarium/protocol/nearest.ts';
import type { z } from 'zod';
import { fieldNames } from './field-names.ts';

type Issue = z.core.$ZodIssue;

/** Checks a value. Throws VivError `unknown_field`, `limit_too_high` or `invalid_argument`, each naming the field. */
export function check<S extends z.ZodType>(schema: S, value: unknown, root = ''): z.output<S> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw issuesToError(result.error.issues, schema, value, root);
}

/** The most telling issue as an error: a misspelt field explains the missing one beside it, so unknown fields come first. */
export function issuesToError(issues: readonly Issue[], schema: z.ZodType, input: unknown, root = ''): VivError {
  const flat = issues.flatMap((issue) => deepest(issue));
  const issue = flat.find((one) => one.code === 'unrecognized_keys') ?? flat[0]!;
  const field = fieldPath(issue.path, root);
  if (issue.code === 'unrecognized_keys') return unknownField(issue.keys[0]!, issue.path, schema, input, root);
  if (isAboveMaximum(issue)) {
    const value = valueAt(input, issue.path);
    const maximum = Number(issue.maximum);
    return new VivError('limit_too_high', `${field} is ${value}, its maximum is ${maximum}`, {
      details: { limit: field, value, maximum },
    });
  }
  return new VivError('invalid_argument', describe(issue, field, valueAt(input, issue.path)), { details: { field } });
}

/** The issue inside a union that the input was nearest to. */
function deepest(issue: Issue): Issue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue];
  const candidates = issue.errors.filter((list) => list.length > 0).sort((a, b) => depth(b) - depth(a));
  const best = candidates[0]?.[0];
  return best && best.path.length > 0 ? [{ ...best, path: [...issue.path, ...best.path] }] : [issue];
}

const depth = (issues: readonly Issue[]) => Math.max(...issues.map((issue) => issue.path.length));

function isAboveMaximum(issue: Issue): issue is z.core.$ZodIssueTooBig {
  return issue.code === 'too_big' && (issue.origin === 'number' || issue.origin === 'int' || issue.origin === 'bigint');
}

function unknownField(name: string, path: PropertyKey[], schema: z.ZodType, input: unknown, root: string): VivError {
  const known = fieldNames(schema, path, input);
  const guess = nearest(name, known);
  const place = path.length > 0 || root !== '' ? ` in ${fieldPath(path, root)}` : '';
  const meant = guess === undefined ? '' : `; did you mean "${guess}"?`;
  return new VivError('unknown_field', `unknown field "${name}"${place}${meant}`, {
    details: { field: fieldPath([...path, name], root), nearest: guess ?? null, known },
  });
}

function describe(issue: Issue, field: string, value: unknown): string {
  const name = field === '' ? 'the body' : field;
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined
        ? `${name} is required`
        : `${name} must be ${article(issue.expected)}, not ${kindOf(value)}`;
    case 'too_small':
      return issue.origin === 'number' || issue.origin === 'int'
        ? `${name} is ${value}, its minimum is ${issue.minimum}`
        : `${name} is too short: at least ${issue.minimum}`;
    case 'too_big':
      return `${name} is too long: at most ${issue.maximum}`;
    case 'invalid_value':
      return value === undefined
        ? `${name} is required`
        : `${name} must be one of ${issue.values.map(String).join(', ')}`;
    case 'invalid_key':
      return `${name}: ${issue.issues[0]?.message ?? 'not a valid name'}`;
    case 'invalid_union':
      return value === undefined ? `${name} is required` : `${name}: ${unionHint(issue)}`;
    default:
      return `${name}: ${issue.message}`;
  }
}

function unionHint(issue: z.core.$ZodIssueInvalidUnion): string {
  const texts = new Set(issue.errors.flat().map((one) => one.message));
  return texts.size > 0 ? [...texts].join(', or: ') : issue.message;
}

function article(expected: string): string {
  return /^[aeio]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : article(typeof value);
}

function fieldPath(path: readonly PropertyKey[], root: string): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? String(part) : `${text}.${String(part)}`,
    root,
  );
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, part) =>
      value === null || typeof value !== 'object' ? undefined : (value as Record<PropertyKey, unknown>)[part],
    input,
  );
}
