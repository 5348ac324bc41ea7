import { MUX_DATA_MAX_BYTES, MUX_INITIAL_LIMIT_BYTES } from '@vivarium/protocol/mux-frame.ts';
import type { Outbox } from './outbox.ts';

/** Data of one sub-channel on its way to the client: never more than the client gave credit for. */
export class Sender {
  readonly #outbox: Outbox;
  readonly #ch: number;
  readonly #sub: number;
  #sent = 0;
  #limit = MUX_INITIAL_LIMIT_BYTES;
  #closed = false;
  #credited: (() => void) | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(outbox: Outbox, ch: number, sub: number) {
    this.#outbox = outbox;
    this.#ch = ch;
    this.#sub = sub;
  }

  /** Resolves when the chunk has been handed over (its memory may be used again) or the channel is closed. One call at a time. */
  send(chunk: Uint8Array): Promise<void> {
    this.#last = this.#send(chunk);
    return this.#last;
  }

  /** Resolves when the last send is done. */
  idle(): Promise<void> {
    return this.#last;
  }

  grant(limit: number): void {
    if (limit <= this.#limit) return;
    this.#limit = limit;
    this.#credited?.();
  }

  close(): void {
    this.#closed = true;
    this.#credited?.();
  }

  async #send(chunk: Uint8Array): Promise<void> {
    let at = 0;
    while (at < chunk.length && !this.#closed) {
      if (this.#sent >= this.#limit) {
        await new Promise<void>((resolve) => {
          this.#credited = resolve;
        });
        this.#credited = undefined;
        continue;
      }
      const room = this.#outbox.room();
      if (room) await room;
      if (this.#closed) return;
      const length = Math.min(chunk.length - at, MUX_DATA_MAX_BYTES, this.#limit - this.#sent);
      this.#outbox.data(this.#ch, this.#sub, chunk.subarray(at, at + length));
      this.#sent += length;
      at += length;
    }
  }
}
