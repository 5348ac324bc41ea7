import { VivError } from '@vivarium/protocol';
import { z } from 'zod';

/** Turns a query string into the object its schema checks: lists where the schema has lists (enumerations may also be joined by commas). */
export function parseQuery(search: string, schema: z.ZodObject): Record<string, string | string[]> {
  // Without a prototype: a parameter `__proto__` is one like any other.
  const result: Record<string, string | string[]> = Object.create(null);
  for (const [name, value] of new URLSearchParams(search)) {
    const field = unwrap(schema.shape[name]);
    if (field instanceof z.ZodArray) {
      const values = field.element instanceof z.ZodEnum ? value.split(',') : [value];
      result[name] = [...((result[name] as string[] | undefined) ?? []), ...values];
    } else if (Object.hasOwn(result, name)) {
      throw new VivError('invalid_argument', `the query parameter "${name}" is given twice`, {
        details: { field: name },
      });
    } else {
      result[name] = value;
    }
  }
  return result;
}

function unwrap(type: unknown): unknown {
  let inner = type;
  while (inner instanceof z.ZodDefault || inner instanceof z.ZodOptional || inner instanceof z.ZodPrefault)
    inner = inner.unwrap();
  return inner;
}
