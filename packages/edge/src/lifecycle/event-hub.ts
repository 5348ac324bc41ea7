import { type Sandbox, VivError } from '@vivarium/protocol';

/** `owner`: the API key that made it. */
type Listener = (sandbox: Sandbox, owner: string) => void;

/** A subscriber that lags by more is ended. */
const QUEUE_MAX = 10_000;

/** Lifecycle changes to whoever wants to know. */
export class EventHub {
  readonly #all = new Set<Listener>();
  readonly #one = new Map<string, Set<Listener>>();

  publish(sandbox: Sandbox, owner: string): void {
    for (const listener of this.#all) listener(sandbox, owner);
    for (const listener of this.#one.get(sandbox.id) ?? []) listener(sandbox, owner);
  }

  /** Calls on each change of one sandbox (all without an id) until the returned function is called. */
  on(id: string | undefined, listener: Listener): () => void {
    const set = id === undefined ? this.#all : (this.#one.get(id) ?? new Set());
    if (id !== undefined) this.#one.set(id, set);
    set.add(listener);
    return () => {
      set.delete(listener);
      if (id !== undefined && set.size === 0) this.#one.delete(id);
    };
  }

  /** Changes as they come, until the signal. Throws `connection_lost` when the reader lags too far. */
  async *stream(
    id: string | undefined,
    wanted: (sandbox: Sandbox, owner: string) => boolean,
    signal: AbortSignal,
  ): AsyncGenerator<Sandbox> {
    const queue: Sandbox[] = [];
    let wake = () => {};
    const off = this.on(id, (sandbox, owner) => {
      if (wanted(sandbox, owner) && queue.length <= QUEUE_MAX) queue.push(sandbox);
      wake();
    });
    const stop = () => wake();
    signal.addEventListener('abort', stop);
    try {
      while (!signal.aborted) {
        if (queue.length > QUEUE_MAX)
          throw new VivError('connection_lost', `the reader of events lags by more than ${QUEUE_MAX}`);
        const next = queue.shift();
        if (next) yield next;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      off();
      signal.removeEventListener('abort', stop);
    }
  }
}
