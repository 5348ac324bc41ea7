import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';

/** Counts and hashes a stream that goes by. */
export class Tally {
  bytes = 0;
  readonly #hash = createHash('sha256');
  readonly #onBytes: (count: number) => void;

  constructor(onBytes: (count: number) => void = () => {}) {
    this.#onBytes = onBytes;
  }

  add(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    this.#hash.update(chunk);
    this.#onBytes(chunk.length);
  }

  /** Of everything that went by. Call once. */
  sha256(): string {
    return this.#hash.digest('hex');
  }

  async *through(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      this.add(chunk);
      yield chunk;
    }
  }

  /** Sees what a Readable that nothing was pushed into yet pushes, without a second stream behind it. */
  watch(stream: Readable): void {
    const push = stream.push.bind(stream);
    stream.push = (chunk: Uint8Array | null, encoding?: BufferEncoding) => {
      if (chunk) this.add(chunk);
      return push(chunk, encoding);
    };
  }
}
