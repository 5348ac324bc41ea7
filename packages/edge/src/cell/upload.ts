import { VivError } from '@vivarium/protocol';
import { Deadline } from './deadline.ts';
import { failureError, parseFailure } from './failure.ts';
import { FRAME, violation } from './frame.ts';
import type { CellStream } from './link.ts';
import { Outflow } from './outflow.ts';
import { abortError, type RequestOptions } from './request.ts';
import type { Session } from './session.ts';

export type UploadBody = Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** How long the guest may take to write what it has been sent; fsync of a large file on a busy disk is slow. */
const STALL_MS = 600_000;

/** FILE WRITE: a body goes down, one OK comes back. If the body fails, the write is canceled in the guest. */
export class Upload<T> implements CellStream {
  readonly #session: Session;
  readonly #options: RequestOptions;
  readonly #stall: Deadline;
  #stream = 0;
  #out!: Outflow;
  readonly #parse: (payload: Buffer) => T;
  #result: { value: T } | null = null;
  #error: VivError | null = null;
  /** Wakes whoever waits for the guest or for the body. */
  #wake: (() => void) | null = null;

  constructor(session: Session, options: RequestOptions, parse: (payload: Buffer) => T) {
    this.#session = session;
    this.#options = options;
    this.#parse = parse;
    this.#stall = new Deadline(STALL_MS, session, () => {
      this.#giveUp(new VivError('request_timeout', `${options.what}: the sandbox has stopped taking data`));
    });
  }

  /** The session must be up. Returns what `parse` makes of OK's payload. */
  async send(build: (stream: number) => Buffer, body: UploadBody): Promise<T> {
    const { signal, what } = this.#options;
    if (signal?.aborted) throw abortError(signal, what);
    this.#stream = this.#session.add(this);
    this.#out = new Outflow(this.#session, this.#stream, false);
    signal?.addEventListener('abort', this.#aborted, { once: true });
    try {
      this.#session.send(build(this.#stream));
      await this.#pour(body);
      this.#out.close();
      this.#stall.arm();
      return await this.#answer();
    } catch (error) {
      this.#giveUp(VivError.from(error));
      throw error;
    }
  }

  frame(type: number, _chan: number, payload: Buffer): void {
    if (type === FRAME.WINDOW) return this.#out.window(payload);
    if (type === FRAME.FAIL) return this.lost(failureError(this.#options.what, parseFailure(payload)));
    if (type !== FRAME.OK || !this.#out.closed)
      throw violation(`frame of type ${type} in answer to ${this.#options.what}`);
    this.#result = { value: this.#parse(payload) };
    this.#over();
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
    if (this.#result || this.#error) return;
    this.#error = error;
    this.#out.abandon(error);
    this.#over();
  }

  async #pour(body: UploadBody): Promise<void> {
    const chunks = body instanceof Uint8Array ? [body] : body;
    const iterator = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
    try {
      for (;;) {
        const { done, value } = await this.#until(Promise.resolve(iterator.next()));
        if (done) return;
        await this.#write(value);
      }
    } catch (error) {
      // Ends the source; its own objections come second.
      void Promise.resolve(iterator.return?.()).catch(() => {});
      throw error;
    }
  }

  #write(chunk: Uint8Array): Promise<void> {
    this.#stall.arm();
    return new Promise((resolve, reject) => {
      this.#out.write(chunk, (error) => {
        this.#stall.clear();
        if (error) reject(error);
        else resolve();
      });
    });
  }

  /** Waits for the body, but no longer than the upload lives. */
  #until<U>(promise: Promise<U>): Promise<U> {
    if (this.#error) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => {
      this.#wake = () => this.#error && reject(this.#error);
      promise.then(resolve, reject);
    });
  }

  #answer(): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#wake = () => {
        if (this.#result) resolve(this.#result.value);
        else reject(this.#error);
      };
      if (this.#result || this.#error) this.#wake();
    });
  }

  readonly #aborted = (): void => this.#giveUp(abortError(this.#options.signal as AbortSignal, this.#options.what));

  #giveUp(error: VivError): void {
    if (this.#result || this.#error) return;
    this.#session.sendShort(FRAME.CANCEL, this.#stream);
    this.lost(error);
  }

  #over(): void {
    this.#stall.clear();
    this.#options.signal?.removeEventListener('abort', this.#aborted);
    this.#session.forget(this.#stream, 0);
    this.#wake?.();
  }
}
