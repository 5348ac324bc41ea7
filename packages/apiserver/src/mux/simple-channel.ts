import type { Channel, Wire } from './channel.ts';
import { ProtocolViolation } from './violation.ts';

type Begin = () => Promise<{
  result: unknown;
  release?: () => void;
  /** What to do instead of answering when the channel was closed meanwhile. */
  unwanted?: () => Promise<unknown>;
}>;

/** An operation with one answer and no streams. `begin` may return what to do when the channel closes; without that it ends with the answer. */
export class SimpleChannel implements Channel {
  readonly #ch: number;
  #release: (() => void) | undefined;
  #closed = false;

  constructor(wire: Wire, ch: number, begin: Begin) {
    this.#ch = ch;
    // Not before the connection has put this in its table: it may end at once.
    queueMicrotask(() => void this.#run(wire, begin));
  }

  data(): void {
    throw new ProtocolViolation(`channel ${this.#ch} takes no data`);
  }

  eof(): void {}

  window(): void {}

  signal(): void {}

  resize(): void {}

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#release?.();
  }

  async #run(wire: Wire, begin: Begin): Promise<void> {
    try {
      const { result, release, unwanted } = await begin();
      if (this.#closed) {
        release?.();
        return void (await unwanted?.());
      }
      this.#release = release;
      wire.opened(this.#ch, result);
      if (!release) wire.finish(this.#ch);
    } catch (error) {
      if (!this.#closed) wire.finish(this.#ch, error);
    }
  }
}
