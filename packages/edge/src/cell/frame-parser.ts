import { checkHeader, FRAME, HEADER_BYTES, readOffset } from './frame.ts';

export interface FrameSink {
  /** A whole frame other than DATA. The payload is only valid during the call. */
  frame(type: number, chan: number, stream: number, payload: Buffer): void;
  /** A piece of a DATA frame, as it came; `offset` is that of its first byte. Its memory is the chunk's, which nobody writes again. */
  data(chan: number, stream: number, offset: number, piece: Buffer): void;
}

const OFFSET_BYTES = 8;
const NOTHING = Buffer.alloc(0);

/**
 * Cuts a byte stream into frames. DATA is handed on in pieces as it arrives, never assembled or copied; other frames are at most
 * OTHER_BYTES_MAX long. Holds nothing between frames.
 */
export class FrameParser {
  readonly #sink: FrameSink;
  #stopped = false;
  /** Start of a header (with a DATA frame's offset) that was cut off. */
  #head: Buffer | null = null;
  #headHave = 0;
  /** The frame under way: bytes of it still to come. */
  #left = 0;
  #type = 0;
  #chan = 0;
  #stream = 0;
  #offset = 0;
  /** Start of a payload that was cut off. */
  #payload: Buffer | null = null;
  #payloadHave = 0;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Ignores everything from here on, also what is left of the chunk being pushed. */
  stop(): void {
    this.#stopped = true;
    this.#head = null;
    this.#payload = null;
  }

  /** Throws a violation (frame.ts) for what no guest may send; nothing may be pushed after that. */
  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && !this.#stopped) {
      if (this.#left === 0) at = this.#takeHeader(chunk, at);
      else if (this.#type === FRAME.DATA) at = this.#takeData(chunk, at);
      else at = this.#takePayload(chunk, at);
    }
  }

  #takeHeader(chunk: Buffer, at: number): number {
    if (this.#head === null) {
      const size = chunk.length - at >= HEADER_BYTES ? headBytes(chunk, at) : Number.POSITIVE_INFINITY;
      if (chunk.length - at >= size) {
        this.#begin(chunk, at);
        return at + size;
      }
      this.#head = Buffer.allocUnsafeSlow(HEADER_BYTES + OFFSET_BYTES);
      this.#headHave = 0;
    }
    const head = this.#head;
    const want = this.#headHave < HEADER_BYTES ? HEADER_BYTES : HEADER_BYTES + OFFSET_BYTES;
    const take = Math.min(want - this.#headHave, chunk.length - at);
    chunk.copy(head, this.#headHave, at, at + take);
    this.#headHave += take;
    if (this.#headHave >= HEADER_BYTES && this.#headHave === headBytes(head, 0)) {
      this.#head = null;
      this.#begin(head, 0);
    }
    return at + take;
  }

  /** A header is complete (of DATA: with the offset). */
  #begin(from: Buffer, at: number): void {
    const length = from.readUInt32LE(at);
    const type = from[at + 4] as number;
    const chan = from[at + 5] as number;
    const stream = from.readUInt32LE(at + 8);
    checkHeader(length, type, chan, from.readUInt16LE(at + 6), stream);
    this.#type = type;
    this.#chan = chan;
    this.#stream = stream;
    this.#left = length;
    if (type === FRAME.DATA) {
      this.#offset = readOffset(from, at + HEADER_BYTES);
      this.#left = length - OFFSET_BYTES;
    } else if (length === 0) {
      this.#sink.frame(type, chan, stream, NOTHING);
    }
  }

  #takeData(chunk: Buffer, at: number): number {
    const take = Math.min(this.#left, chunk.length - at);
    const piece = at === 0 && take === chunk.length ? chunk : chunk.subarray(at, at + take);
    const offset = this.#offset;
    this.#left -= take;
    this.#offset += take;
    this.#sink.data(this.#chan, this.#stream, offset, piece);
    return at + take;
  }

  #takePayload(chunk: Buffer, at: number): number {
    const take = Math.min(this.#left, chunk.length - at);
    this.#left -= take;
    let whole: Buffer;
    if (this.#payload === null && this.#left === 0) {
      whole = chunk.subarray(at, at + take);
    } else {
      if (this.#payload === null) {
        this.#payload = Buffer.allocUnsafe(take + this.#left);
        this.#payloadHave = 0;
      }
      chunk.copy(this.#payload, this.#payloadHave, at, at + take);
      this.#payloadHave += take;
      if (this.#left > 0) return at + take;
      whole = this.#payload;
      this.#payload = null;
    }
    this.#sink.frame(this.#type, this.#chan, this.#stream, whole);
    return at + take;
  }
}

function headBytes(from: Buffer, at: number): number {
  return from[at + 4] === FRAME.DATA ? HEADER_BYTES + OFFSET_BYTES : HEADER_BYTES;
}
