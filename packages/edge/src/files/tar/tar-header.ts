import { VivError } from '@vivarium/protocol';
import { BLOCK_BYTES, FLAG, type TarEntry } from './tar-entry.ts';

const NAME_BYTES = 100;
const OCTAL_LIMIT = 8 ** 11;
const FLAG_OF = { file: FLAG.file, link: FLAG.link, symlink: FLAG.symlink, dir: FLAG.dir } as const;

/**
 * Header blocks of one member in GNU format (tar(5), "GNU tar archives"): long names as extra members with the bytes as they are, so
 * that names which are not UTF-8 survive.
 */
export function encodeTarHeader(entry: TarEntry): Buffer {
  const name = entry.type === 'dir' ? Buffer.concat([entry.name, Buffer.from('/')]) : entry.name;
  const blocks: Buffer[] = [];
  if (entry.link.length > NAME_BYTES) blocks.push(longMember(FLAG.gnuLongLink, entry.link));
  if (name.length > NAME_BYTES) blocks.push(longMember(FLAG.gnuLongName, name));
  const { mode, uid, gid, link } = entry;
  const size = entry.type === 'file' ? entry.size : 0;
  blocks.push(
    block({
      name,
      link,
      mode,
      uid,
      gid,
      size,
      mtimeS: Number(entry.mtimeNs / 1_000_000_000n),
      flag: FLAG_OF[entry.type],
    }),
  );
  return Buffer.concat(blocks);
}

/** Zeros up to the next block boundary. */
export function tarPadding(size: number): number {
  return (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;
}

type Fields = {
  name: Buffer;
  link: Buffer;
  mode: number;
  uid: number;
  gid: number;
  size: number;
  mtimeS: number;
  flag: number;
};

function block(fields: Fields): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  fields.name.copy(header, 0, 0, NAME_BYTES);
  putNumber(header, 100, 8, fields.mode);
  putNumber(header, 108, 8, fields.uid);
  putNumber(header, 116, 8, fields.gid);
  putNumber(header, 124, 12, fields.size);
  putNumber(header, 136, 12, Math.max(0, fields.mtimeS));
  header[156] = fields.flag;
  fields.link.copy(header, 157, 0, NAME_BYTES);
  header.write('ustar  \0', 257, 'latin1');
  header.write(`${checksum(header).toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

function longMember(flag: number, text: Buffer): Buffer {
  const size = text.length + 1;
  const header = block({
    name: Buffer.from('././@LongLink'),
    link: Buffer.alloc(0),
    mode: 0o644,
    uid: 0,
    gid: 0,
    size,
    mtimeS: 0,
    flag,
  });
  return Buffer.concat([header, text, Buffer.alloc(1 + tarPadding(size))]);
}

/** Octal with a NUL where it fits, else base-256 with the top bit set (GNU). */
function putNumber(header: Buffer, at: number, width: number, value: number): void {
  if (value < 8 ** (width - 1) && value < OCTAL_LIMIT) {
    header.write(`${value.toString(8).padStart(width - 1, '0')}\0`, at, 'latin1');
    return;
  }
  let rest = BigInt(value);
  for (let i = width - 1; i > 0; i--) {
    header[at + i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  header[at] = 0x80;
}

export type RawHeader = {
  name: Buffer;
  link: Buffer;
  mode: number;
  uid: number;
  gid: number;
  size: number;
  mtimeS: number;
  flag: number;
};

/** Reads one header block; null for a block of zeros. Throws `invalid_archive`. */
export function decodeTarHeader(header: Buffer): RawHeader | null {
  if (header.every((byte) => byte === 0)) return null;
  const claimed = getNumber(header, 148, 8);
  if (claimed !== checksum(header) && claimed !== signedChecksum(header))
    throw new VivError('invalid_archive', 'a tar header has a wrong checksum');
  const prefix = header.toString('latin1', 257, 263) === 'ustar\0' ? text(header, 345, 155) : Buffer.alloc(0);
  const name = text(header, 0, NAME_BYTES);
  return {
    name: prefix.length > 0 ? Buffer.concat([prefix, Buffer.from('/'), name]) : name,
    link: text(header, 157, NAME_BYTES),
    mode: getNumber(header, 100, 8) & 0o7777,
    uid: getNumber(header, 108, 8),
    gid: getNumber(header, 116, 8),
    size: getNumber(header, 124, 12),
    mtimeS: getNumber(header, 136, 12),
    flag: header[156] === 0 ? FLAG.file : header[156]!,
  };
}

function text(header: Buffer, at: number, width: number): Buffer {
  const field = header.subarray(at, at + width);
  const end = field.indexOf(0);
  return Buffer.from(end < 0 ? field : field.subarray(0, end));
}

function getNumber(header: Buffer, at: number, width: number): number {
  const field = header.subarray(at, at + width);
  if (field[0]! & 0x80) return getBinary(field);
  const digits = field
    .toString('latin1')
    .replace(/[\0 ]+$/, '')
    .trim();
  if (digits === '') return 0;
  if (!/^[0-7]+$/.test(digits))
    throw new VivError('invalid_archive', 'a tar header has a field that is no octal number');
  return Number.parseInt(digits, 8);
}

function getBinary(field: Buffer): number {
  let value = BigInt(field[0]! & 0x3f);
  for (const byte of field.subarray(1)) value = (value << 8n) | BigInt(byte);
  if (field[0]! & 0x40) return 0;
  if (value > BigInt(Number.MAX_SAFE_INTEGER))
    throw new VivError('invalid_archive', 'a tar header has an impossible number');
  return Number(value);
}

function checksum(header: Buffer): number {
  let sum = 0;
  for (let i = 0; i < BLOCK_BYTES; i++) sum += i >= 148 && i < 156 ? 32 : header[i]!;
  return sum;
}

/** Some old programs summed signed bytes. */
function signedChecksum(header: Buffer): number {
  let sum = 0;
  for (let i = 0; i < BLOCK_BYTES; i++) sum += i >= 148 && i < 156 ? 32 : header.readInt8(i);
  return sum;
}
