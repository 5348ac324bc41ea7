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
  protected readonly session: Session;
  protected readonly options: RequestOptions;
  protected readonly deadline: Deadline;
  protected stream = 0;
  readonly #parse: (payload: Buffer) => T;
  #resolve!: (result: T) => void;
  #reject!: (error: VivError) => void;
  #over = false;

  /** `parse` is called with OK's payload before any later frame is looked at; its violations end the connection. */
  constructor(session: Session, options: RequestOptions, parse: (payload: Buffer) => T) {
    this.session = session;
    this.options = options;
    this.#parse = parse;
    this.deadline = new Deadline(options.timeoutMs ?? TIMEOUT_MS, session, () => this.giveUp(this.late()));
  }

  /** Over `connection` where the session is not up yet (CONFIG). */
  send(build: (stream: number) => Buffer, connection?: Connection): Promise<T> {
    const { signal } = this.options;
    if (signal?.aborted) return Promise.reject(abortError(signal, this.options.what));
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.stream = this.session.add(this);
      try {
        const frame = build(this.stream);
        if (connection) connection.send(frame);
        else this.session.send(frame);
      } catch (error) {
        this.lost(VivError.from(error));
        return;
      }
      this.deadline.arm();
      signal?.addEventListener('abort', this.#aborted, { once: true });
    });
  }

  frame(type: number, _chan: number, payload: Buffer): void {
    if (type === FRAME.OK) this.#succeed(payload);
    else if (type === FRAME.FAIL) this.lost(failureError(this.options.what, parseFailure(payload)));
    else throw violation(`frame of type ${type} in answer to ${this.options.what}`);
  }

  data(): void {
    throw violation(`data in answer to ${this.options.what}`);
  }

  disconnected(error: VivError): boolean {
    this.lost(error);
    return false;
  }

  reconnected(): void {}

  /** Ends it with an error; nothing if it has ended. */
  lost(error: VivError): void {
    if (this.#over) return;
    this.#end();
    this.ended(error);
    this.#reject(error);
  }

  /** The same, from this side: the guest is told. */
  protected giveUp(error: VivError): void {
    if (this.#over) return;
    this.session.sendShort(FRAME.CANCEL, this.stream);
    this.lost(error);
  }

  /** What is said when the deadline passes. */
  protected late(): VivError {
    const { what, timeoutMs = TIMEOUT_MS } = this.options;
    return new VivError('request_timeout', `${what}: no answer from the sandbox within ${timeoutMs} ms`);
  }

  /** For whoever waits for more than the answer. */
  protected ended(_error: VivError): void {}

  #succeed(payload: Buffer): void {
    this.#end();
    try {
      this.#resolve(this.#parse(payload));
    } catch (error) {
      this.#reject(VivError.from(error));
      throw error;
    }
  }

  readonly #aborted = (): void => this.giveUp(abortError(this.options.signal as AbortSignal, this.options.what));

  #end(): void {
    this.#over = true;
    this.deadline.clear();
    this.options.signal?.removeEventListener('abort', this.#aborted);
    this.session.forget(this.stream, 0);
  }
}

/** The signal's reason if it is a VivError, else `request_timeout` with the reason as cause. */
export function abortError(signal: AbortSignal, what: string): VivError {
  if (signal.reason instanceof VivError) return signal.reason;
  return new VivError('request_timeout', `${what}: given up by the caller`, { cause: signal.reason });
}
