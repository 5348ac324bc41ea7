import type { ErrorBody, Fault } from './error.ts';
import { ERROR_CODES, type ErrorCode } from './error-codes.ts';

export type ErrorOptions = { hint?: string; details?: Record<string, unknown>; cause?: unknown; fault?: Fault };

/**
 * The one error class. `code` decides HTTP status, CLI exit code, fault and whether a retry can help (error-codes.ts);
 * `message` names the offending value; `hint` says what to do. This file needs no schema library, so that clients start
 * fast and stay small in a browser.
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
    const error = (body as { error?: unknown } | null | undefined)?.error as Record<string, unknown> | null | undefined;
    if (
      !error ||
      typeof error.message !== 'string' ||
      typeof error.code !== 'string' ||
      !Object.hasOwn(ERROR_CODES, error.code)
    ) {
      return new VivError('internal', 'the server answered with something that is no error body');
    }
    const options: ErrorOptions = {};
    if (typeof error.hint === 'string') options.hint = error.hint;
    if (typeof error.details === 'object' && error.details !== null)
      options.details = error.details as Record<string, unknown>;
    if (isFault(error.fault)) options.fault = error.fault;
    return new VivError(error.code as ErrorCode, error.message, options);
  }

  /** Normalises anything thrown: a VivError passes, all else becomes `internal` with the cause kept. */
  static from(thrown: unknown): VivError {
    if (thrown instanceof VivError) return thrown;
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    return new VivError('internal', message, { cause: thrown });
  }
}

function isFault(value: unknown): value is Fault {
  return value === 'user' || value === 'agent' || value === 'task' || value === 'infra';
}
