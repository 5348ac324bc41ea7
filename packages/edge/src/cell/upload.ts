import { VivError } from '@vivarium/protocol';
import { FRAME, violation } from './frame.ts';
import { Outflow } from './outflow.ts';
import { Request, type RequestOptions } from './request.ts';
import type { Session } from './session.ts';

export type UploadBody = Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** How long the guest may take to write what it has been sent; fsync of a large file on a busy disk is slow. */
const STALL_MS = 600_000;

/** FILE WRITE: a body goes down, one OK comes back. If the body fails, the write is canceled in the guest. */
export class Upload<T> extends Request<T> {
  #out: Outflow | null = null;
  #error: VivError | null = null;
  /** Ends the wait for the body or for room. */
  #interrupt: ((error: VivError) => void) | null = null;

  constructor(session: Session, options: RequestOptions, parse: (payload: Buffer) => T) {
    super(session, { ...options, timeoutMs: STALL_MS }, parse);
  }

  /** The session must be up. Returns what `parse` makes of OK's payload. */
  async sendBody(build: (stream: number) => Buffer, body: UploadBody): Promise<T> {
    const answer = this.send(build);
    if (this.stream === 0) return answer;
    // Whatever ends it while the body is on its way ends the pouring too, which reports it.
    answer.catch(() => {});
    this.#out = new Outflow(this.session, this.stream, false);
    try {
      await this.#pour(body, this.#out);
    } catch (error) {
      this.giveUp(VivError.from(error));
      throw error;
    }
    this.#out.close();
    this.deadline.arm();
    return answer;
  }

  override frame(type: number, chan: number, payload: Buffer): void {
    if (type === FRAME.WINDOW && this.#out) return this.#out.window(payload);
    if (type === FRAME.OK && !this.#out?.closed) throw violation(`an early OK in answer to ${this.options.what}`);
    super.frame(type, chan, payload);
  }

  protected override late(): VivError {
    return new VivError('request_timeout', `${this.options.what}: the sandbox has stopped taking data`);
  }

  protected override ended(error: VivError): void {
    this.#error = error;
    this.#out?.abandon(error);
    this.#interrupt?.(error);
  }

  async #pour(body: UploadBody, out: Outflow): Promise<void> {
    const chunks = body instanceof Uint8Array ? [body] : body;
    const iterator = Symbol.asyncIterator in chunks ? chunks[Symbol.asyncIterator]() : chunks[Symbol.iterator]();
    try {
      for (;;) {
        // A slow body is not the guest's fault.
        this.deadline.clear();
        const { done, value } = await this.#unlessEnded(iterator.next());
        if (done) return;
        const wait = this.#write(out, value);
        if (wait) await wait;
      }
    } catch (error) {
      // Ends the source; its own objections come second.
      void Promise.resolve(iterator.return?.()).catch(() => {});
      throw error;
    }
  }

  /** null when all of it is on its way already. */
  #write(out: Outflow, chunk: Uint8Array): Promise<void> | null {
    let written: Error | true | undefined | null;
    let settle: ((error?: Error | null) => void) | undefined;
    out.write(chunk, (error) => {
      written = error ?? true;
      settle?.(error);
    });
    if (written === true) return null;
    return new Promise((resolve, reject) => {
      settle = (error) => (error ? reject(error) : resolve());
      if (written) settle(written as Error);
      else this.deadline.arm();
    });
  }

  /** Waits for the body, but no longer than the upload lives. */
  #unlessEnded<U>(step: U | PromiseLike<U>): Promise<U> {
    if (this.#error) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => {
      this.#interrupt = reject;
      Promise.resolve(step).then(resolve, reject);
    });
  }
}
