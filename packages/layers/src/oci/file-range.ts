import { closeSync, openSync, readSync } from 'node:fs';

/** A part of a file: a whole blob, or one that lies in an archive. */
export type FileRange = { path: string; offset: number; size: number };

/** Reads a range at any place. Blocks. */
export class RangeReader {
  readonly size: number;
  readonly #fd: number;
  readonly #offset: number;

  constructor(range: FileRange) {
    this.#fd = openSync(range.path, 'r');
    this.#offset = range.offset;
    this.size = range.size;
  }

  /** Fills the buffer from a place in the range; returns how much there was. */
  read(buffer: Buffer, at: number): number {
    const wanted = Math.min(buffer.length, this.size - at);
    let done = 0;
    while (done < wanted) {
      const count = readSync(this.#fd, buffer, done, wanted - done, this.#offset + at + done);
      if (count === 0) break;
      done += count;
    }
    return done;
  }

  close(): void {
    closeSync(this.#fd);
  }
}
