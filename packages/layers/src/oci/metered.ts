import { Transform, type TransformCallback } from 'node:stream';

/** Between two looks. */
export const LOOK_EVERY_BYTES = 64 * 1024 ** 2;

export type Bounds = {
  maxBytes: number;
  /** What the stream ends with when more comes. */
  tooMuch(): Error;
  /** Called with what has passed, at the beginning and after each LOOK_EVERY_BYTES; throws when there is no room for as much again. */
  look(bytes: number): void;
};

/** Counts what passes, and ends it when it is too much or there is no room for it. */
export class Metered extends Transform {
  bytes = 0;
  readonly #bounds: Bounds;
  #nextLook = 0;

  constructor(bounds: Bounds, highWaterMark?: number) {
    super({ highWaterMark });
    this.#bounds = bounds;
  }

  override _transform(chunk: Uint8Array, _encoding: string, done: TransformCallback): void {
    const { maxBytes, tooMuch, look } = this.#bounds;
    this.bytes += chunk.length;
    try {
      if (this.bytes > maxBytes) throw tooMuch();
      if (this.bytes >= this.#nextLook) {
        look(this.bytes);
        this.#nextLook = this.bytes + LOOK_EVERY_BYTES;
      }
      done(null, chunk);
    } catch (error) {
      done(error as Error);
    }
  }
}
