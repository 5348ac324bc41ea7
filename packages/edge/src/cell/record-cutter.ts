import { violation } from './frame.ts';

/** Cuts a byte stream into records that begin with their own length, u32. Holds at most one incomplete record. */
export class RecordCutter {
  readonly #max: number;
  readonly #take: (record: Buffer) => void;
  #rest: Buffer | null = null;

  constructor(max: number, take: (record: Buffer) => void) {
    this.#max = max;
    this.#take = take;
  }

  /** Throws a violation for a length below 4 or above the maximum. Records are only valid during the call. */
  push(piece: Buffer): void {
    let bytes = this.#rest === null ? piece : Buffer.concat([this.#rest, piece]);
    this.#rest = null;
    while (bytes.length >= 4) {
      const length = bytes.readUInt32LE(0);
      if (length < 4 || length > this.#max) throw violation(`record of ${length} bytes`);
      if (bytes.length < length) break;
      this.#take(bytes.subarray(0, length));
      bytes = bytes.subarray(length);
    }
    if (bytes.length > 0) this.#rest = Buffer.from(bytes);
  }

  /** The stream ended: nothing may be left over. */
  end(): void {
    if (this.#rest !== null) throw violation('a cut-off record at the end');
  }
}
