import { concat, toReadable, toText } from './bytes.ts';
import type { Inlet } from './inlet.ts';

/**
 * What a command writes: iterate it (chunks are views, valid as long as you like), or take it as text, lines or a web
 * stream. Nothing is lost to a slow reader: the command waits. Output that nobody asked for is dropped by `wait()`.
 */
export class OutputStream implements AsyncIterable<Uint8Array> {
  readonly #inlet: Inlet;

  constructor(inlet: Inlet) {
    this.#inlet = inlet;
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined> {
    return this.#inlet[Symbol.asyncIterator]();
  }

  /** Absolute offset of the next byte to come: what `attach` wants as `from`. */
  get offset(): number {
    return this.#inlet.received;
  }

  readable(): ReadableStream<Uint8Array> {
    return toReadable(this);
  }

  /** Everything to the end; beyond `maxBytes` the rest is dropped. */
  async bytes(maxBytes = Number.POSITIVE_INFINITY): Promise<Uint8Array> {
    const chunks: Uint8Array[] = [];
    let room = maxBytes;
    for await (const chunk of this) {
      if (room <= 0) continue;
      chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
      room -= chunk.length;
    }
    return concat(chunks);
  }

  async text(): Promise<string> {
    return toText(await this.bytes());
  }

  /** Lines without their newline; the last one also when it has none. */
  async *lines(): AsyncGenerator<string> {
    const decoder = new TextDecoder();
    let rest = '';
    for await (const chunk of this) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = parts.pop() ?? '';
      yield* parts;
    }
    rest += decoder.decode();
    if (rest !== '') yield rest;
  }

  /** Reads and drops the rest. */
  discard(): void {
    this.#inlet.discard();
  }

  /** Drops the rest unless someone reads. */
  discardUnread(): void {
    if (!this.#inlet.touched) this.#inlet.discard();
  }
}
