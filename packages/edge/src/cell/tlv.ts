import { VivError } from '@vivarium/protocol';
import { HEADER_BYTES, OTHER_BYTES_MAX, putHeader, REQUEST_BYTES_MAX, violation } from './frame.ts';

const TLV_HEADER_BYTES = 8;

/** Scratch shared by all: a frame is built synchronously and copied out, so an idle cell owns no buffer. */
let scratch = Buffer.allocUnsafeSlow(16_384);

/** Builds one frame whose payload is a TLV list: `tag u16, zero u16, len u32, value`. Finish it before another is begun. */
export class TlvFrame {
  readonly #type: number;
  readonly #max: number;
  #end = HEADER_BYTES;

  /** `large`: up to REQUEST_BYTES_MAX (SPAWN, CONFIG), else OTHER_BYTES_MAX. */
  constructor(type: number, large = false) {
    this.#type = type;
    this.#max = HEADER_BYTES + (large ? REQUEST_BYTES_MAX : OTHER_BYTES_MAX);
  }

  /** All optional values: undefined adds nothing. */
  u32(tag: number, value: number | undefined): this {
    if (value === undefined) return this;
    const at = this.#item(tag, 4);
    scratch.writeUInt32LE(checkRange(tag, value, 0xffff_ffff), at);
    return this;
  }

  u64(tag: number, value: number | bigint | undefined): this {
    if (value === undefined) return this;
    const at = this.#item(tag, 8);
    if (typeof value === 'number') checkRange(tag, value, Number.MAX_SAFE_INTEGER);
    scratch.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), at);
    return this;
  }

  bytes(tag: number, value: Uint8Array | undefined): this {
    if (value === undefined) return this;
    const at = this.#item(tag, value.length);
    scratch.set(value, at);
    return this;
  }

  /** Text as UTF-8, or raw bytes. NUL is `invalid_argument`. */
  text(tag: number, value: string | Uint8Array | undefined): this {
    if (value === undefined) return this;
    if (typeof value !== 'string') {
      if (value.includes(0)) throw nulByte(tag);
      return this.bytes(tag, value);
    }
    if (value.includes('\0')) throw nulByte(tag);
    const at = this.#item(tag, Buffer.byteLength(value));
    scratch.write(value, at, 'utf8');
    return this;
  }

  /** The frame, ready to be sent. */
  finish(stream: number): Buffer {
    putHeader(scratch, this.#end - HEADER_BYTES, this.#type, 0, stream);
    const frame = Buffer.allocUnsafe(this.#end);
    scratch.copy(frame, 0, 0, this.#end);
    return frame;
  }

  #item(tag: number, length: number): number {
    const at = this.#end + TLV_HEADER_BYTES;
    const end = at + length;
    if (end > this.#max) {
      throw new VivError('invalid_argument', `the request is larger than ${this.#max - HEADER_BYTES} bytes`, {
        hint: 'Put large arguments or environments into a file.',
      });
    }
    if (end > scratch.length) grow(end);
    scratch.writeUInt16LE(tag, at - 8);
    scratch.writeUInt16LE(0, at - 6);
    scratch.writeUInt32LE(length, at - 4);
    this.#end = end;
    return at;
  }
}

/** Calls `visit` for each item of a list from the guest; anything malformed is a violation. */
export function eachTlv(list: Buffer, visit: (tag: number, value: Buffer) => void): void {
  let at = 0;
  while (at < list.length) {
    if (list.length - at < TLV_HEADER_BYTES) throw violation('cut-off TLV header');
    const length = list.readUInt32LE(at + 4);
    if (list.readUInt16LE(at + 2) !== 0) throw violation('non-zero TLV padding');
    const start = at + TLV_HEADER_BYTES;
    if (length > list.length - start) throw violation('TLV value longer than its frame');
    visit(list.readUInt16LE(at), list.subarray(start, start + length));
    at = start + length;
  }
}

/** The value of a fixed-size item. */
export function fixed(value: Buffer, bytes: number): Buffer {
  if (value.length !== bytes) throw violation(`TLV value of ${value.length} bytes instead of ${bytes}`);
  return value;
}

function grow(atLeast: number): void {
  const larger = Buffer.allocUnsafeSlow(Math.max(atLeast, scratch.length * 2));
  scratch.copy(larger);
  scratch = larger;
}

function checkRange(tag: number, value: number, max: number): number {
  if (Number.isInteger(value) && value >= 0 && value <= max) return value;
  throw new VivError('invalid_argument', `value ${value} of tag ${tag} is not an integer from 0 to ${max}`);
}

function nulByte(tag: number): VivError {
  return new VivError('invalid_argument', `a string of the request (tag ${tag}) has a NUL byte`);
}
