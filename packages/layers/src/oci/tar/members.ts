import type { RangeReader } from '../file-range.ts';
import { Refusal } from '../refusal.ts';
import { BLOCK, parseHeader, type TarHeader } from './header.ts';
import { type PaxRecord, parsePax, paxNumber, paxTime } from './pax.ts';
import { oldGnuSparse, paxSparse, type Segment } from './sparse.ts';

/** One member. Types as tar(5): `0` file, `1` hard link, `2` symbolic link, `3` `4` devices, `5` directory, `6` FIFO. */
export type Member = Omit<TarHeader, 'block'> & {
  /** From `SCHILY.xattr.` records. */
  xattrs: { name: string; value: Buffer }[];
  /** Where a file's bytes lie in the archive. */
  segments: Segment[];
};

const SMALL_MAX = 1024 * 1024;
const XATTR = 'SCHILY.xattr.';
/** Types whose size says nothing about data. */
const WITHOUT_DATA = new Set(['1', '2', '3', '4', '5', '6']);
type Extras = { name?: Buffer; link?: Buffer; pax: PaxRecord[] };

/**
 * Reads the members of an archive that lies in a file: ustar, pax and GNU with long names, sparse files and extended attributes. It ends
 * at the end mark, or at the end of the file between two members. Blocks. Throws Refusal for what is damaged or cut short.
 */
export function* readMembers(reader: RangeReader): Generator<Member> {
  const read = (at: number, length: number) => {
    const buffer = Buffer.alloc(length);
    if (reader.read(buffer, at) < length) throw cut(reader.size);
    return buffer;
  };
  let extras: Extras = { pax: [] };
  for (let at = 0; at < reader.size; ) {
    const header = parseHeader(read(at, BLOCK), at);
    if (!header) return;
    at += BLOCK;
    const small = () => {
      if (header.size > SMALL_MAX) throw new Refusal('invalid_image', 'the archive is damaged: a header is too large');
      return read(at, header.size);
    };
    if (header.type === 'L') extras.name = untilNul(small());
    else if (header.type === 'K') extras.link = untilNul(small());
    else if (header.type === 'x') extras.pax = parsePax(small());
    else if (header.type !== 'g' && header.type !== 'V') {
      const { member, end } = memberOf(header, extras, at, read);
      if (end > reader.size) throw cut(reader.size);
      yield member;
      extras = { pax: [] };
      at = padded(end);
      continue;
    }
    at = padded(at + header.size);
  }
}

function memberOf(
  header: TarHeader,
  extras: Extras,
  at: number,
  read: (at: number, length: number) => Buffer,
): { member: Member; end: number } {
  const { block, ...fields } = header;
  const member: Member = { ...fields, xattrs: [], segments: [] };
  if (extras.name) member.name = extras.name;
  if (extras.link) member.link = extras.link;
  for (const record of extras.pax) apply(member, record);
  if (member.type === '7') member.type = '0';
  if (member.type === '0' && member.name.at(-1) === 0x2f) member.type = '5';
  if (WITHOUT_DATA.has(member.type)) return { member, end: at };
  const stored = member.size;
  if (member.type === 'S') {
    const { realSize, segments, dataAt } = oldGnuSparse(block, at, read);
    return {
      member: { ...member, type: '0', size: realSize, segments: within(segments, realSize, dataAt + stored) },
      end: dataAt + stored,
    };
  }
  const sparse = paxSparse(extras.pax, at, read);
  if (!sparse) {
    member.segments = stored > 0 ? [{ offset: 0, length: stored, at }] : [];
    return { member, end: at + stored };
  }
  const { realSize, segments, name } = sparse;
  if (name) member.name = name;
  return { member: { ...member, size: realSize, segments: within(segments, realSize, at + stored) }, end: at + stored };
}

function apply(member: Member, [key, value]: PaxRecord): void {
  if (key === 'path') member.name = value;
  else if (key === 'linkpath') member.link = value;
  else if (key === 'size') member.size = paxNumber(value);
  else if (key === 'uid') member.uid = paxNumber(value);
  else if (key === 'gid') member.gid = paxNumber(value);
  else if (key === 'mtime') member.mtimeNs = paxTime(value);
  else if (key.startsWith(XATTR)) member.xattrs.push({ name: key.slice(XATTR.length), value });
}

function within(segments: Segment[], size: number, end: number): Segment[] {
  for (const { offset, length, at } of segments)
    if (offset + length > size || at + length > end)
      throw new Refusal('invalid_image', 'the archive is damaged: a sparse file has parts outside of it');
  return segments;
}

function padded(bytes: number): number {
  return Math.ceil(bytes / BLOCK) * BLOCK;
}

function untilNul(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0);
  return end < 0 ? bytes : bytes.subarray(0, end);
}

function cut(size: number): Refusal {
  return new Refusal(
    'invalid_image',
    `the archive is cut short: it ends after ${size} bytes in the middle of a member`,
  );
}
