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

  /** The body itself, counted. By hand: an async generator adds several turns of the microtask queue to each chunk. */
  through(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    const iterator = body[Symbol.asyncIterator]();
    const count = (step: IteratorResult<Uint8Array>): IteratorResult<Uint8Array> => {
      if (!step.done) this.add(step.value);
      return step;
    };
    return {
      [Symbol.asyncIterator]: () => ({
        next: () => iterator.next().then(count),
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      }),
    };
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
