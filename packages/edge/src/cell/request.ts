import { VivError } from '@vivarium/protocol';
import type { Connection } from './connection.ts';
import { Deadline } from './deadline.ts';
import { failureError, parseFailure } from './failure.ts';
import { FRAME, violation } from './frame.ts';
import type { CellStream } from './link.ts';
import type { Session } from './session.ts';

export type RequestOptions = {
  /** For messages: "stat /etc/passwd". */
  what: string;
  /** Default 30 s. */
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
};

const TIMEOUT_MS = 30_000;

/** A request that one OK or FAIL answers. */
export class Request<T> implements CellStream {
  readonly #session: Session;
  readonly #options: RequestOptions;
  readonly #deadline: Deadline;
  readonly #parse: (payload: Buffer) => T;
  #stream = 0;
  #resolve!: (result: T) => void;
  #reject!: (error: VivError) => void;

  /** `parse` is called with OK's payload before any later frame is looked at; its violations end the connection. */
  constructor(session: Session, options: RequestOptions, parse: (payload: Buffer) => T) {
    this.#session = session;
    this.#options = options;
    this.#parse = parse;
    const timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#deadline = new Deadline(timeoutMs, session, () => {
      this.#cancel(
        new VivError('request_timeout', `${options.what}: no answer from the sandbox within ${timeoutMs} ms`),
      );
    });
  }

  /** Over `connection` where the session is not up yet (CONFIG). */
  send(build: (stream: number) => Buffer, connection?: Connection): Promise<T> {
    const { signal } = this.#options;
    if (signal?.aborted) return Promise.reject(abortError(signal, this.#options.what));
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#stream = this.#session.add(this);
      try {
        const frame = build(this.#stream);
        if (connection) connection.send(frame);
        else this.#session.send(frame);
      } catch (error) {
        this.#session.forget(this.#stream, 0);
        return reject(error);
      }
      this.#deadline.arm();
      signal?.addEventListener('abort', this.#aborted, { once: true });
    });
  }

  frame(type: number, _chan: number, payload: Buffer): void {
    if (type === FRAME.OK) {
      this.#over();
      this.#resolve(this.#result(payload));
    } else if (type === FRAME.FAIL) {
      this.#over();
      this.#reject(failureError(this.#options.what, parseFailure(payload)));
    } else {
      throw violation(`frame of type ${type} in answer to ${this.#options.what}`);
    }
  }

  data(): void {
    throw violation(`data in answer to ${this.#options.what}`);
  }

  disconnected(error: VivError): boolean {
    this.lost(error);
    return false;
  }

  reconnected(): void {}

  lost(error: VivError): void {
    this.#over();
    this.#reject(error);
  }

  #result(payload: Buffer): T {
    try {
      return this.#parse(payload);
    } catch (error) {
      this.#reject(VivError.from(error));
      throw error;
    }
  }

  readonly #aborted = (): void => this.#cancel(abortError(this.#options.signal as AbortSignal, this.#options.what));

  #cancel(error: VivError): void {
    this.#session.sendShort(FRAME.CANCEL, this.#stream);
    this.lost(error);
  }

  #over(): void {
    this.#deadline.clear();
    this.#options.signal?.removeEventListener('abort', this.#aborted);
    this.#session.forget(this.#stream, 0);
  }
}

/** The signal's reason if it is a VivError, else `request_timeout` with the reason as cause. */
export function abortError(signal: AbortSignal, what: string): VivError {
  if (signal.reason instanceof VivError) return signal.reason;
  return new VivError('request_timeout', `${what}: given up by the caller`, { cause: signal.reason });
}
