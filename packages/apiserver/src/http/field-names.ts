import { z } from 'zod';

/** The fields that the object at `path` may have. `input` picks the branch of a union. */
export function fieldNames(schema: z.ZodType, path: readonly PropertyKey[], input: unknown): string[] {
  const [part, ...rest] = path;
  const type = bare(schema, input);
  if (type instanceof z.ZodObject) {
    if (part === undefined) return Object.keys(type.shape);
    const field = (type.shape as Record<PropertyKey, z.ZodType>)[part];
    return field ? fieldNames(field, rest, member(input, part)) : [];
  }
  if (part === undefined) return [];
  if (type instanceof z.ZodArray) return fieldNames(type.element as z.ZodType, rest, member(input, part));
  if (type instanceof z.ZodRecord) return fieldNames(type.valueType as z.ZodType, rest, member(input, part));
  return [];
}

function bare(schema: z.ZodType, input: unknown): z.ZodType {
  let type = schema;
  for (;;) {
    if (
      type instanceof z.ZodOptional ||
      type instanceof z.ZodNullable ||
      type instanceof z.ZodDefault ||
      type instanceof z.ZodPrefault
    ) {
      type = type.unwrap() as z.ZodType;
    } else if (type instanceof z.ZodPipe) {
      type = type.in as z.ZodType;
    } else if (type instanceof z.ZodDiscriminatedUnion) {
      const { discriminator } = type.def;
      const chosen = type.options.find((option) => {
        const tag = option instanceof z.ZodObject ? option.shape[discriminator] : undefined;
        return tag instanceof z.ZodLiteral && tag.values.has(member(input, discriminator) as string);
      });
      if (!chosen) return type;
      type = chosen as z.ZodType;
    } else {
      return type;
    }
  }
}

function member(input: unknown, part: PropertyKey): unknown {
  return input !== null && typeof input === 'object' ? (input as Record<PropertyKey, unknown>)[part] : undefined;
}
