import { violation } from './frame.ts';

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
  /** Of a symlink; else null. */
  target: Buffer | null;
};

const TYPES = [undefined, 'file', 'dir', 'symlink', 'fifo', 'socket', 'char', 'block'] as const;
const FIXED_BYTES = 60;
/** A path of 64 levels with 255 bytes each and a link target of 4,096. */
export const ENTRY_BYTES_MAX = 24_576;

/** A whole entry record (docs/guest-protocol.md, "Entry record"). Copies the names. */
export function parseEntry(record: Buffer): CellEntry {
  if (record.length < FIXED_BYTES) throw violation(`entry record of ${record.length} bytes`);
  const nameBytes = record.readUInt16LE(6);
  const linkBytes = record.readUInt16LE(8);
  const type = TYPES[record[4] as number];
  const nameEnd = FIXED_BYTES + nameBytes;
  if (record.readUInt32LE(0) !== record.length || nameEnd + linkBytes !== record.length)
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
    target: type === 'symlink' ? Buffer.from(record.subarray(nameEnd)) : null,
  };
}
