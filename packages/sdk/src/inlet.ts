import { MUX_INITIAL_LIMIT_BYTES } from '@vivarium/protocol/mux-frame.ts';
import type { VivError } from '@vivarium/protocol/viv-error.ts';

/** Told to the server each time this much was consumed, not with each chunk. */
const UPDATE_BYTES = 262_144;
/** A stream that has proved long gets a larger window, so that a distant reader is not held up by round trips. */
const WINDOW_LARGE_BYTES = 4 * MUX_INITIAL_LIMIT_BYTES;

type Waiter = { resolve(result: IteratorResult<Uint8Array, undefined>): void; reject(error: unknown): void };

/**
 * The receiving end of one sub-channel: a queue bounded by the credit it hands out. Chunks are views of what the socket
 * delivered, never copies. `received` counts from the stream's first byte and survives reconnects.
 */
export class Inlet implements AsyncIterableIterator<Uint8Array, undefined> {
  /** Absolute offset of the next byte to come. */
  received: number;
  #queue: Uint8Array[] = [];
  #head = 0;
  #waiter: Waiter | undefined;
  #ended = false;
  #error: VivError | undefined;
  #touched = false;
  #discarding = false;
  /** Bytes of the present channel: credit is counted from its opening. */
  #taken = 0;
  #limit = MUX_INITIAL_LIMIT_BYTES;
  #total = 0;
  readonly #sendLimit: (limit: number) => void;

  constructor(sendLimit: (limit: number) => void, offset = 0) {
    this.#sendLimit = sendLimit;
    this.received = offset;
  }

  /** Has anyone asked for data? */
  get touched(): boolean {
    return this.#touched;
  }

  push(chunk: Uint8Array): void {
    this.received += chunk.length;
    const waiter = this.#waiter;
    if (this.#discarding) {
      this.#consume(chunk.length);
      return;
    }
    if (!waiter) {
      this.#queue.push(chunk);
      return;
    }
    this.#waiter = undefined;
    this.#consume(chunk.length);
    waiter.resolve({ done: false, value: chunk });
  }

  end(): void {
    this.#ended = true;
    this.#settle();
  }

  fail(error: VivError): void {
    if (this.#ended) return;
    this.#error = error;
    this.#settle();
  }

  /** A new channel carries on where the last one broke: its credit starts over. */
  restart(): void {
    this.#taken = 0;
    this.#limit = MUX_INITIAL_LIMIT_BYTES;
  }

  /** Takes and drops all that is queued and still to come. */
  discard(): void {
    this.#touched = true;
    this.#discarding = true;
    for (const chunk of this.#queue.splice(0).slice(this.#head)) this.#consume(chunk.length);
    this.#head = 0;
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#touched = true;
    const chunk = this.#queue[this.#head];
    if (chunk !== undefined) {
      this.#head++;
      if (this.#head === this.#queue.length) {
        this.#queue = [];
        this.#head = 0;
      }
      this.#consume(chunk.length);
      return Promise.resolve({ done: false, value: chunk });
    }
    if (this.#ended || this.#discarding) return Promise.resolve({ done: true, value: undefined });
    if (this.#error) return Promise.reject(this.#error);
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }

  /** Leaving a `for await` early does not stop the writer: the rest is dropped. */
  return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.discard();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    this.#touched = true;
    return this;
  }

  #settle(): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (this.#error) waiter?.reject(this.#error);
    else waiter?.resolve({ done: true, value: undefined });
  }

  #consume(length: number): void {
    this.#taken += length;
    this.#total += length;
    const window = this.#total < WINDOW_LARGE_BYTES ? MUX_INITIAL_LIMIT_BYTES : WINDOW_LARGE_BYTES;
    const limit = this.#taken + window;
    if (limit - this.#limit < UPDATE_BYTES || this.#ended) return;
    this.#limit = limit;
    this.#sendLimit(limit);
  }
}
