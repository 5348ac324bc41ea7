import { z } from '@hono/zod-openapi';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

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

export type ErrorOptions = { hint?: string; details?: Record<string, unknown>; cause?: unknown; fault?: Fault };

/**
 * The one error class. `code` decides HTTP status, CLI exit code, fault and whether a retry can help (error-codes.ts);
 * `message` names the offending value; `hint` says what to do.
 */
export class VivError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly details: Record<string, unknown>;
  readonly fault: Fault;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'VivError';
    this.code = code;
    this.hint = options.hint ?? ERROR_CODES[code].hint;
    this.details = options.details ?? {};
    this.fault = options.fault ?? ERROR_CODES[code].fault;
  }

  get status(): number {
    return ERROR_CODES[this.code].status;
  }

  get exitCode(): number {
    return ERROR_CODES[this.code].exit;
  }

  get retryable(): boolean {
    return ERROR_CODES[this.code].retryable;
  }

  /** The wire form. The cause stays on this side. */
  toBody(): ErrorBody {
    const { code, message, hint, details, retryable, fault } = this;
    return { error: { code, message, hint, details, retryable, fault } };
  }

  /** Rebuilds an error from the wire. Anything that is not an error body becomes `internal`. */
  static fromBody(body: unknown): VivError {
    const parsed = ErrorBody.safeParse(body);
    if (!parsed.success) return new VivError('internal', 'the server answered with something that is no error body');
    const { code, message, hint, details, fault } = parsed.data.error;
    return new VivError(code, message, { hint, details, fault });
  }

  /** Normalises anything thrown: a VivError passes, all else becomes `internal` with the cause kept. */
  static from(thrown: unknown): VivError {
    if (thrown instanceof VivError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new VivError('internal', message, { cause: thrown });
  }
}
