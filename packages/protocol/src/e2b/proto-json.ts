import { z } from 'zod';

/** A uint32 as proto3 JSON may write it: a number, or its digits (protobuf.dev, ProtoJSON format). */
export const uint32 = z
  .union([
    z.number(),
    z
      .string()
      .regex(/^\d{1,10}$/)
      .transform(Number),
  ])
  .pipe(z.number().int().min(0).max(4_294_967_295));
