import { MUX_INITIAL_LIMIT_BYTES } from '@vivarium/protocol/mux-frame.ts';
import { ProtocolViolation } from './violation.ts';

/** The client learns of new credit when this much is new. */
const GRANT_BYTES = MUX_INITIAL_LIMIT_BYTES / 4;
/** Smaller pieces are gathered, so that a million one-byte messages don't become a million objects. */
const SMALL_BYTES = 4_096;
const GATHER_BYTES = 16_384;

export type InboxOptions = {
  /** Tells the client that it may send up to this many bytes in all. */
  grant(limit: number): void;
  /** How much more (or less, negative) is held here; may throw to end the connection. */
  held(bytes: number): void;
};

/** Data of one sub-channel on its way from the client to whoever takes it. Holds at most the credit that was given. */
export class Inbox {
  readonly #options: InboxOptions;
  #queue: Buffer[] = [];
  /** Bytes of the last entry's memory that are not used yet. */
  #spare: Buffer | undefined;
  #received = 0;
  #taken = 0;
  #limit = MUX_INITIAL_LIMIT_BYTES;
  #ended = false;
  #closed = false;
  #discarding = false;
  #wake: (() => void) | undefined;

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  /** Throws ProtocolViolation when the client sends more than it may, or after its end. */
  push(chunk: Buffer): void {
    if (this.#closed) return;
    if (this.#ended) throw new ProtocolViolation('data after eof');
    this.#received += chunk.length;
    if (this.#received > this.#limit) throw new ProtocolViolation('more data than there was credit for');
    if (this.#discarding) return this.#consumed(chunk.length);
    this.#options.held(chunk.length);
    this.#append(chunk);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  /** Nobody takes anything any more; what comes is credited and dropped, so that the client doesn't hang. */
  discard(): void {
    this.#discarding = true;
    const bytes = this.#queue.reduce((sum, chunk) => sum + chunk.length, 0);
    this.#queue = [];
    this.#spare = undefined;
    this.#options.held(-bytes);
    this.#consumed(bytes);
    this.#wake?.();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.discard();
  }

  /** Hands every chunk to `take`, one at a time; a chunk is credited when `take` resolves. Returns whether the client said eof. */
  async drain(take: (chunk: Buffer) => Promise<void> | void): Promise<boolean> {
    while (!this.#closed && !this.#discarding) {
      const chunk = this.#queue.shift();
      if (this.#queue.length === 0) this.#spare = undefined;
      if (chunk) {
        await take(chunk);
        this.#options.held(-chunk.length);
        this.#consumed(chunk.length);
      } else if (this.#ended) {
        return true;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    }
    return false;
  }

  #append(chunk: Buffer): void {
    if (chunk.length >= SMALL_BYTES) {
      this.#spare = undefined;
      this.#queue.push(chunk);
    } else if (this.#spare && this.#spare.length >= chunk.length) {
      const last = this.#queue.at(-1)!;
      this.#spare.set(chunk);
      this.#queue[this.#queue.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + chunk.length);
      this.#spare = this.#spare.subarray(chunk.length);
    } else {
      const memory = Buffer.allocUnsafeSlow(this.#queue.length === 0 ? chunk.length : GATHER_BYTES);
      memory.set(chunk);
      this.#queue.push(memory.subarray(0, chunk.length));
      this.#spare = memory.subarray(chunk.length);
    }
  }

  #consumed(bytes: number): void {
    this.#taken += bytes;
    const limit = this.#taken + MUX_INITIAL_LIMIT_BYTES;
    if (this.#closed || this.#ended || limit - this.#limit < GRANT_BYTES) return;
    this.#limit = limit;
    this.#options.grant(limit);
  }
}
