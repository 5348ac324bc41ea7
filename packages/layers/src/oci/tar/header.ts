import { Refusal } from '../refusal.ts';

export const BLOCK = 512;

/** One 512-byte header as it stands (tar(5): ustar, GNU). Names are bytes. */
export type TarHeader = {
  type: string;
  name: Buffer;
  link: Buffer;
  mode: number;
  uid: number;
  gid: number;
  size: number;
  mtimeNs: bigint;
  block: Buffer;
};

/** Null: a block of zeros, the end of the archive. Throws Refusal for what is no header. */
export function parseHeader(block: Buffer, at: number): TarHeader | null {
  if (block.every((byte) => byte === 0)) return null;
  requireChecksum(block, at);
  const isUstar = block.toString('latin1', 257, 263) === 'ustar\0';
  const name = text(block, 0, 100);
  const prefix = isUstar ? text(block, 345, 500) : Buffer.alloc(0);
  return {
    type: String.fromCharCode(block[156]! || 0x30),
    name: prefix.length > 0 ? Buffer.concat([prefix, Buffer.from('/'), name]) : name,
    link: text(block, 157, 257),
    mode: number(block, 100, 108) & 0o7777,
    uid: number(block, 108, 116),
    gid: number(block, 116, 124),
    size: count(block, 124, 136),
    mtimeNs: BigInt(number(block, 136, 148)) * 1_000_000_000n,
    block,
  };
}

/** A number of bytes or blocks: never below zero, or an archive could lead back to where it was read already. */
export function count(block: Buffer, from: number, to: number): number {
  const value = number(block, from, to);
  if (value < 0) throw new Refusal('invalid_image', `the archive is damaged: ${value} is no size`);
  return value;
}

/** Octal digits, or two's complement in base 256 where the first bit is set (GNU). */
function number(block: Buffer, from: number, to: number): number {
  const field = block.subarray(from, to);
  if ((field[0]! & 0x80) !== 0) return base256(field);
  const digits = field.toString('latin1').replace(/\0.*$/s, '').trim();
  if (digits === '') return 0;
  if (!/^[0-7]+$/.test(digits)) throw new Refusal('invalid_image', `the archive is damaged: '${digits}' is no number`);
  return Number.parseInt(digits, 8);
}

function base256(field: Buffer): number {
  const isNegative = (field[0]! & 0x40) !== 0;
  let value = BigInt(field[0]! & 0x7f);
  for (const byte of field.subarray(1)) value = (value << 8n) | BigInt(byte);
  if (isNegative) value -= 1n << BigInt(field.length * 8 - 1);
  const result = Number(value);
  if (!Number.isSafeInteger(result))
    throw new Refusal('invalid_image', 'the archive is damaged: a number is too large');
  return result;
}

/** The sum of all bytes, those of the checksum itself taken for blanks; old programs added signed bytes. */
function requireChecksum(block: Buffer, at: number): void {
  const digits = block.toString('latin1', 148, 156).replace(/\0.*$/s, '').trim();
  const stated = /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : -1;
  let unsigned = 0;
  let signed = 0;
  for (let i = 0; i < BLOCK; i++) {
    const byte = i >= 148 && i < 156 ? 0x20 : block[i]!;
    unsigned += byte;
    signed += (byte << 24) >> 24;
  }
  if (stated === unsigned || stated === signed) return;
  throw new Refusal('invalid_image', `the archive is damaged: no tar header at byte ${at}`);
}

function text(block: Buffer, from: number, to: number): Buffer {
  const field = block.subarray(from, to);
  const end = field.indexOf(0);
  return Buffer.from(end < 0 ? field : field.subarray(0, end));
}
