import { VivError } from '@vivarium/protocol';

/** Takes exact amounts from a stream of chunks, holding no more than the chunk at hand. */
export class ByteSource {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #chunk: Buffer = Buffer.alloc(0);
  #ended = false;
  /** Bytes taken so far. */
  taken = 0;

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#iterator = body[Symbol.asyncIterator]();
  }

  /** Up to `max` bytes, at least one; null at the end. The result is a view. */
  async some(max: number): Promise<Buffer | null> {
    while (this.#chunk.length === 0) {
      if (this.#ended) return null;
      const { value, done } = await this.#iterator.next();
      if (done) this.#ended = true;
      else this.#chunk = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const part = this.#chunk.subarray(0, max);
    this.#chunk = this.#chunk.subarray(part.length);
    this.taken += part.length;
    return part;
  }

  /** Exactly `length` bytes, or null when the stream is at its end. Throws `invalid_archive` when it ends in between. */
  async exactly(length: number): Promise<Buffer | null> {
    const first = await this.some(length);
    if (!first || first.length === length) return first;
    const parts = [first];
    for (let have = first.length; have < length; ) {
      const part = await this.some(length - have);
      if (!part)
        throw new VivError('invalid_archive', `the archive ends in the middle of a member, after ${this.taken} bytes`);
      parts.push(part);
      have += part.length;
    }
    return Buffer.concat(parts);
  }

  /** Reads on to the end of the stream, so that its sender can finish. */
  async drain(): Promise<void> {
    while (await this.some(Number.MAX_SAFE_INTEGER));
  }

  /** Tells the stream that nothing more is wanted. */
  async cancel(): Promise<void> {
    if (!this.#ended) await this.#iterator.return?.();
  }
}
