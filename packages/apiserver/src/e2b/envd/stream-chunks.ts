import type { Readable } from 'node:stream';
import { VivError } from '@vivarium/protocol';

/**
 * What a stream pushes, chunk by chunk, as it comes: Readable's own iterator joins chunks that wait into one more copy. The first of
 * end and error counts; leaving early destroys the stream. Errors that are no VivError become `invalid_argument` with this in front.
 */
export class StreamChunks implements AsyncIterableIterator<Uint8Array> {
  readonly #stream: Readable;
  readonly #waiting: Buffer[] = [];
  #over: { error?: Error } | undefined;
  #wake: (() => void) | undefined;

  constructor(stream: Readable, what: string) {
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => {
      this.#waiting.push(chunk);
      stream.pause();
      this.#tell();
    });
    stream.once('end', () => this.#end({}));
    stream.on('error', (error) => this.#end({ error: asInvalid(error, what) }));
    stream.once('close', () => this.#end({ error: new VivError('connection_lost', `${what}: it broke off`) }));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      const value = this.#waiting.shift();
      if (value) return { done: false, value };
      if (this.#over?.error) throw this.#over.error;
      if (this.#over) return { done: true, value: undefined };
      this.#stream.resume();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#over ??= {};
    this.#waiting.length = 0;
    this.#stream.destroy();
    return { done: true, value: undefined };
  }

  #end(over: { error?: Error }): void {
    this.#over ??= over;
    this.#tell();
  }

  #tell(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

function asInvalid(error: Error, what: string): VivError {
  return error instanceof VivError ? error : new VivError('invalid_argument', `${what}: ${error.message}`);
}
