import type { MuxOpInput } from '@vivarium/protocol/mux.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import type { Channel } from './channel.ts';
import type { Context } from './context.ts';

/** News not yet taken by a slow reader; more ends the subscription. */
const BACKLOG_MAX = 65_536;

export type SubscriptionRequest<T> = {
  open: MuxOpInput;
  /** How to carry on after a break. Default: the same request again. */
  reopen?: () => MuxOpInput;
  /** Turns an event into what the reader gets; undefined: not for the reader. */
  pick(event: Record<string, unknown> & { type?: string }): T | undefined;
  /** What the reader gets after a break, so that it knows that it may have missed something. */
  afterBreak?: () => T;
  signal?: AbortSignal | undefined;
};

/** Events of one channel as an async iterable. Leaving the loop or aborting the signal ends it. */
export class Subscription<T> implements AsyncIterableIterator<T, undefined> {
  /** Resolves when the server has it armed: nothing after this is missed. */
  readonly ready: Promise<void>;
  readonly #channel: Channel;
  readonly #queue: T[] = [];
  #waiter: { resolve(result: IteratorResult<T, undefined>): void; reject(error: unknown): void } | undefined;
  #done = false;
  #error: unknown;

  constructor(context: Context, request: SubscriptionRequest<T>) {
    request.signal?.throwIfAborted();
    this.#channel = context.mux.open({
      open: request.open,
      reopen: request.reopen ?? (() => request.open),
      onEvent: (event) => {
        const value = request.pick(event);
        if (value !== undefined) this.#push(value);
      },
      onOpened: (_result, again) => {
        if (again && request.afterBreak) this.#push(request.afterBreak());
      },
    });
    this.ready = this.#channel.opened.then(() => {});
    this.ready.catch(() => {});
    const onAbort = () => this.#channel.close();
    request.signal?.addEventListener('abort', onAbort, { once: true });
    this.#channel.closed
      .then(
        () => this.#finish(undefined),
        (error: unknown) => this.#finish(error),
      )
      .finally(() => request.signal?.removeEventListener('abort', onAbort));
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#queue.length > 0) return Promise.resolve({ done: false, value: this.#queue.shift()! });
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#done) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
  }

  return(): Promise<IteratorResult<T, undefined>> {
    this.#channel.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #push(value: T): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (waiter) waiter.resolve({ done: false, value });
    else if (this.#queue.push(value) > BACKLOG_MAX) {
      this.#error = new VivError('too_many_requests', `the reader is more than ${BACKLOG_MAX} events behind`);
      this.#channel.close();
    }
  }

  #finish(error: unknown): void {
    this.#done = true;
    this.#error ??= error;
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (this.#error !== undefined) waiter?.reject(this.#error);
    else waiter?.resolve({ done: true, value: undefined });
  }
}
