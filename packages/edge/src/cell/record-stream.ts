import { VivError } from '@vivarium/protocol';
import { Deadline } from './deadline.ts';
import { failureError, parseFailure } from './failure.ts';
import { FRAME, readOffset, violation } from './frame.ts';
import { Inflow } from './inflow.ts';
import type { CellStream } from './link.ts';
import { RecordCutter } from './record-cutter.ts';
import { abortError, type RequestOptions } from './request.ts';
import type { Session } from './session.ts';

/** The guest's default for channels whose request names no window. */
const WINDOW = 65_536;
const STALL_MS = 60_000;

type Waiter<T> = { resolve: (result: IteratorResult<T>) => void; reject: (error: VivError) => void };

/**
 * The answer to list, watch and process list: records, one at a time. The guest sends on only as they are taken, so at most a window's
 * worth is held. For one consumer. Leaving the loop ends it in the guest.
 */
export class RecordStream<T> implements CellStream, AsyncIterableIterator<T> {
  readonly #session: Session;
  readonly #options: RequestOptions;
  readonly #in = new Inflow(WINDOW);
  readonly #cutter: RecordCutter;
  readonly #stall: Deadline;
  readonly #stream: number;
  #records: T[] = [];
  #taken = 0;
  #waiter: Waiter<T> | null = null;
  #error: VivError | null = null;
  #done = false;
  /** watch: the first OK says that it is armed. */
  #armed: { resolve: () => void; reject: (error: VivError) => void } | null = null;

  /** The session must be up. */
  constructor(
    session: Session,
    recordMax: number,
    parse: (record: Buffer) => T,
    build: (stream: number) => Buffer,
    options: RequestOptions,
  ) {
    this.#session = session;
    this.#options = options;
    this.#cutter = new RecordCutter(recordMax, (record) => this.#records.push(parse(record)));
    this.#stall = new Deadline(options.timeoutMs ?? STALL_MS, session, () => {
      this.#cancel(new VivError('request_timeout', `${options.what}: the sandbox has stopped answering`));
    });
    this.#stream = session.add(this);
    const { signal } = options;
    try {
      if (signal?.aborted) throw abortError(signal, options.what);
      session.send(build(this.#stream));
    } catch (error) {
      session.forget(this.#stream, 0);
      this.#done = true;
      throw error;
    }
    signal?.addEventListener('abort', this.#aborted, { once: true });
  }

  /** For watch: resolves at the first OK; from then on the wait for records is unbounded. */
  armed(): Promise<this> {
    this.#stall.arm();
    return new Promise((resolve, reject) => {
      this.#armed = { resolve: () => resolve(this), reject };
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#taken < this.#records.length) {
      const value = this.#records[this.#taken++] as T;
      if (this.#taken === this.#records.length) this.#refill();
      return Promise.resolve({ value, done: false });
    }
    if (this.#error) return Promise.reject(this.#error);
    if (this.#done) return Promise.resolve({ value: undefined, done: true });
    if (!this.#watching) this.#stall.arm();
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<T>> {
    if (!this.#done) this.#session.sendShort(FRAME.CANCEL, this.#stream);
    this.#over(null);
    this.#records = [];
    this.#taken = 0;
    this.#error = null;
    return Promise.resolve({ value: undefined, done: true });
  }

  frame(type: number, chan: number, payload: Buffer): void {
    if (type === FRAME.FAIL) return this.#over(failureError(this.#options.what, parseFailure(payload)));
    if (type === FRAME.OK && this.#armed) return this.#onArmed();
    if (type === FRAME.OK && !this.#watching) return this.#over(null);
    if (type === FRAME.EOF && chan === 1 && this.#in.finish(readOffset(payload, 0))) return this.#cutter.end();
    throw violation(`frame of type ${type} in answer to ${this.#options.what}`);
  }

  data(chan: number, offset: number, piece: Buffer): void {
    if (chan !== 1 || this.#armed) throw violation(`data on channel ${chan} in answer to ${this.#options.what}`);
    this.#in.accept(offset, piece.length);
    this.#cutter.push(piece);
    this.#stall.clear();
    if (this.#taken < this.#records.length) this.#hand();
    else this.#refill();
  }

  disconnected(error: VivError): boolean {
    this.#over(error);
    return false;
  }

  reconnected(): void {}

  lost(error: VivError): void {
    this.#over(error);
  }

  #watching = false;

  #onArmed(): void {
    const armed = this.#armed;
    this.#armed = null;
    this.#watching = true;
    this.#stall.clear();
    armed?.resolve();
  }

  /** Gives a record, or the end, to the consumer that waits. */
  #hand(): void {
    const waiter = this.#waiter;
    if (waiter === null) return;
    this.#waiter = null;
    this.next().then(waiter.resolve, waiter.reject);
  }

  /** Everything so far is taken: the guest may send as much again. */
  #refill(): void {
    this.#records = [];
    this.#taken = 0;
    this.#in.grant(this.#in.received, this.#in.received + WINDOW);
    if (this.#done || !this.#in.due) return;
    this.#in.told();
    this.#session.sendWindow(1, this.#stream, this.#in.acked, this.#in.limit);
  }

  readonly #aborted = (): void => this.#cancel(abortError(this.#options.signal as AbortSignal, this.#options.what));

  #cancel(error: VivError): void {
    if (!this.#done) this.#session.sendShort(FRAME.CANCEL, this.#stream);
    this.#over(error);
  }

  #over(error: VivError | null): void {
    if (this.#done) return;
    this.#done = true;
    this.#error = error;
    this.#stall.clear();
    this.#options.signal?.removeEventListener('abort', this.#aborted);
    this.#session.forget(this.#stream, this.#in.outstanding);
    if (error) this.#armed?.reject(error);
    this.#armed = null;
    this.#hand();
  }
}
