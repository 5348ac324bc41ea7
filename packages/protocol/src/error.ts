import { z } from '@hono/zod-openapi';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

export { type ErrorOptions, VivError } from './viv-error.ts';

/** Whose doing an error is: trainers mask on it. */
export const Fault = z.enum(['user', 'agent', 'task', 'infra']);
export type Fault = z.infer<typeof Fault>;

/** The body of every non-2xx response. */
export const ErrorBody = z
  .object({
    error: z.object({
      code: z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]),
      message: z.string(),
      hint: z.string(),
      details: z.record(z.string(), z.unknown()),
      retryable: z.boolean(),
      fault: Fault,
    }),
  })
  .openapi('Error');
export type ErrorBody = z.infer<typeof ErrorBody>;
