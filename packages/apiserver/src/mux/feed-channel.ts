import type { Channel, Wire } from './channel.ts';
import { ProtocolViolation } from './violation.ts';

export type Feed = {
  /** Starts it: the result for the client's `opened`, and what becomes events. */
  begin(signal: AbortSignal): Promise<{ result: unknown; items: AsyncIterable<Record<string, unknown>> }>;
};

/** News that come as events: file changes, journal records, lifecycle. Taken from the source only as fast as the client reads. */
export class FeedChannel implements Channel {
  readonly #wire: Wire;
  readonly #ch: number;
  readonly #stop = new AbortController();

  constructor(wire: Wire, ch: number, feed: Feed) {
    this.#wire = wire;
    this.#ch = ch;
    // Not before the connection has put this in its table: it may end at once.
    queueMicrotask(() => void this.#run(feed));
  }

  data(): void {
    throw new ProtocolViolation(`channel ${this.#ch} takes no data`);
  }

  eof(): void {}

  window(): void {}

  signal(): void {}

  resize(): void {}

  close(): void {
    this.#stop.abort();
  }

  async #run(feed: Feed): Promise<void> {
    const { signal } = this.#stop;
    try {
      const { result, items } = await feed.begin(signal);
      if (signal.aborted) return;
      this.#wire.opened(this.#ch, result);
      for await (const item of items) {
        const room = this.#wire.outbox.room();
        if (room) await room;
        if (signal.aborted) return;
        this.#wire.event(this.#ch, item);
      }
      if (!signal.aborted) this.#wire.finish(this.#ch);
    } catch (error) {
      if (!signal.aborted) this.#wire.finish(this.#ch, error);
    }
  }
}
