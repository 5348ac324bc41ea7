import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { VivError } from '@vivarium/protocol';
import type { z } from 'zod';

const MAX_BYTES = 1024 * 1024;

/**
 * A JSON file that the node's operator wrote; undefined when there is none. `hint`: what it should look like.
 * @throws VivError `precondition_failed` that says what is wrong with it.
 */
export function readSettings<T>(path: string, schema: z.ZodType<T>, hint: string): T | undefined {
  if (!existsSync(path)) return undefined;
  const fail = (why: string, cause?: unknown) =>
    new VivError('precondition_failed', `the node's ${basename(path)} can't be used: ${why}`, { hint, cause });
  if (statSync(path).size > MAX_BYTES) throw fail(`it is larger than ${MAX_BYTES} bytes`);
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw fail((cause as Error).message, cause);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw fail(`${issue?.path.join('.') || 'it'}: ${issue?.message}`);
}
