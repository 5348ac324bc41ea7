import type { IncomingMessage } from 'node:http';
import { bytesPassed } from '@vivarium/core/passing-memory.ts';
import { VivError } from '@vivarium/protocol';

/** Bytes that may wait for whoever takes them. */
const WAITING_BYTES_MAX = 512 * 1024;

/**
 * The body of a request as it arrives. Readable's own iterator joins the chunks that wait into one more copy, and destroys the connection when it is
 * left early, with the answer that says why. Throws `connection_lost` when the client is gone before the end.
 */
export class BodyChunks implements AsyncIterableIterator<Uint8Array> {
  readonly #req: IncomingMessage;
  readonly #waiting: Buffer[] = [];
  #bytes = 0;
  #state: 'open' | 'ended' | 'lost' = 'open';
  #wake: (() => void) | undefined;

  constructor(req: IncomingMessage) {
    this.#req = req;
    req.on('data', this.#onData);
    req.once('end', this.#onEnd);
    req.once('close', this.#onClose);
    req.once('error', this.#onClose);
    if (req.complete && req.readableEnded) this.#state = 'ended';
    else if (req.destroyed) this.#state = 'lost';
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    while (this.#waiting.length === 0 && this.#state === 'open')
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    const chunk = this.#waiting.shift();
    if (chunk) {
      this.#bytes -= chunk.length;
      if (this.#bytes < WAITING_BYTES_MAX && this.#state === 'open') this.#req.resume();
      return { done: false, value: chunk };
    }
    if (this.#state === 'lost')
      throw new VivError('connection_lost', 'the request broke off before its body was complete');
    return { done: true, value: undefined };
  }

  /** Left early: what still comes is the business of whoever answers. */
  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#req.off('data', this.#onData);
    this.#req.pause();
    this.#waiting.length = 0;
    if (this.#state === 'open') this.#state = 'ended';
    return { done: true, value: undefined };
  }

  readonly #onData = (chunk: Buffer): void => {
    bytesPassed(chunk.length);
    this.#waiting.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= WAITING_BYTES_MAX) this.#req.pause();
    this.#tell();
  };

  readonly #onEnd = (): void => {
    if (this.#state === 'open') this.#state = this.#req.complete ? 'ended' : 'lost';
    this.#tell();
  };

  readonly #onClose = (): void => {
    if (this.#state === 'open') this.#state = 'lost';
    this.#tell();
  };

  #tell(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
