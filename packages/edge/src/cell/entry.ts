import { violation } from './frame.ts';
import { parseMetadata } from './metadata.ts';

/** One directory entry as the guest reports it. Names are bytes. */
export type CellEntry = {
  type: 'file' | 'dir' | 'symlink' | 'fifo' | 'socket' | 'char' | 'block';
  /** Permission bits, 0o7777. */
  mode: number;
  uid: number;
  gid: number;
  nlink: number;
  ino: bigint;
  size: number;
  mtimeNs: bigint;
  rdev: bigint;
  /** Relative to what was asked for: the last component (stat …) or the path beneath the directory (list). */
  name: Buffer;
  /** Of a symlink, its text or, where it was resolved, the real path of where it leads; else null. */
  target: Buffer | null;
  /** What is where a link that was resolved leads. */
  leadsTo?: { type: CellEntry['type']; mode: number };
  /** What clients noted about it; absent where there is none. */
  metadata?: Record<string, string>;
};

const TYPES = [undefined, 'file', 'dir', 'symlink', 'fifo', 'socket', 'char', 'block'] as const;
const FIXED_BYTES = 60;
/** A path of 64 levels with 255 bytes each, a link target and metadata of 4,096 each. */
export const ENTRY_BYTES_MAX = 28_672;

/** A whole entry record (docs/guest-protocol.md, "Entry record"). Copies the names. */
export function parseEntry(record: Buffer): CellEntry {
  if (record.length < FIXED_BYTES) throw violation(`entry record of ${record.length} bytes`);
  const nameBytes = record.readUInt16LE(6);
  const linkBytes = record.readUInt16LE(8);
  const type = TYPES[record[4] as number];
  const nameEnd = FIXED_BYTES + nameBytes;
  const linkEnd = nameEnd + linkBytes;
  if (record.readUInt32LE(0) !== record.length || linkEnd > record.length)
    throw violation('entry record that lies about its length');
  if (type === undefined) throw violation(`entry of type ${record[4]}`);
  const size = record.readBigUInt64LE(36);
  const name = record.subarray(FIXED_BYTES, nameEnd);
  if (size > Number.MAX_SAFE_INTEGER || name.includes(0)) throw violation('entry with an impossible size or name');
  return {
    type,
    mode: record.readUInt32LE(12) & 0o7777,
    uid: record.readUInt32LE(16),
    gid: record.readUInt32LE(20),
    nlink: record.readUInt32LE(24),
    ino: record.readBigUInt64LE(28),
    size: Number(size),
    mtimeNs: record.readBigInt64LE(44),
    rdev: record.readBigUInt64LE(52),
    name: Buffer.from(name),
    target: type === 'symlink' ? Buffer.from(record.subarray(nameEnd, linkEnd)) : null,
    ...(record[5] ? { leadsTo: leadsTo(record) } : {}),
    ...(linkEnd < record.length ? { metadata: parseMetadata(record.subarray(linkEnd)) } : {}),
  };
}

function leadsTo(record: Buffer): { type: CellEntry['type']; mode: number } {
  const type = TYPES[record[5] as number];
  if (type === undefined) throw violation(`link to something of type ${record[5]}`);
  return { type, mode: record.readUInt16LE(10) & 0o7777 };
}
