import { type CellEntry, parseEntry } from './entry.ts';
import { FRAME, readOffset, violation } from './frame.ts';
import { eachTlv, fixed, TlvFrame } from './tlv.ts';

/** Operations and flags of FILE (docs/guest-protocol.md). */
export const FILE_OP = {
  STAT: 1,
  LIST: 2,
  READ: 3,
  WRITE: 4,
  MKDIR: 5,
  RENAME: 6,
  REMOVE: 7,
  CHMOD: 8,
  CHOWN: 9,
  SYMLINK: 10,
  LINK: 11,
  UTIMES: 12,
  WATCH: 13,
  TRUNCATE: 14,
  STATFS: 15,
} as const;

export const FILE_FLAG = {
  FOLLOW: 1,
  SELF: 2,
  ATOMIC: 4,
  APPEND: 8,
  PARENTS: 16,
  EXCLUSIVE: 32,
  FSYNC: 64,
  AT_OFFSET: 128,
  RECURSIVE: 256,
  MISSING_OK: 512,
  RESOLVE: 1024,
  PRIVILEGED: 2048,
  WITH_METADATA: 4096,
} as const;

export type FileFields = {
  path: Uint8Array;
  path2?: Uint8Array | undefined;
  mode?: number | undefined;
  flags?: number | undefined;
  offset?: number | undefined;
  length?: number | undefined;
  user?: string | undefined;
  depth?: number | undefined;
  base?: Uint8Array | undefined;
  uid?: number | undefined;
  gid?: number | undefined;
  mtimeNs?: bigint | undefined;
  window?: number | undefined;
  owner?: string | undefined;
  /** Items `key=value`. */
  metadata?: readonly string[] | undefined;
};

export function fileFrame(op: number, fields: FileFields, stream: number): Buffer {
  const frame = new TlvFrame(FRAME.FILE)
    .u32(1, op)
    .text(2, fields.path)
    .text(3, fields.path2)
    .u32(4, fields.mode)
    .u32(5, fields.flags === 0 ? undefined : fields.flags)
    .u64(6, fields.offset)
    .u64(7, fields.length)
    .text(8, fields.user)
    .u32(9, fields.depth)
    .text(10, fields.base)
    .u32(11, fields.uid)
    .u32(12, fields.gid)
    .u64(13, fields.mtimeNs)
    .u32(14, fields.window)
    .text(15, fields.owner);
  for (const item of fields.metadata ?? []) frame.text(16, item);
  return frame.finish(stream);
}

/** The bits of those flags that are set. */
export function fileFlags(...flags: (number | false | undefined)[]): number {
  return flags.reduce<number>((all, flag) => all | (flag || 0), 0);
}

export type FileSystemStats = { blockSize: number; blocks: number; free: number; files: number; filesFree: number };

/** What OK of a FILE carries, as far as it does. */
export type FileResult = { entry?: CellEntry; count?: number; stats?: FileSystemStats };

export function parseFileResult(payload: Buffer): FileResult {
  const result: FileResult = {};
  eachTlv(payload, (tag, value) => {
    if (tag === 1) result.entry = parseEntry(value);
    else if (tag === 2) result.count = readOffset(fixed(value, 8), 0);
    else if (tag === 3) result.stats = parseStats(fixed(value, 40));
    else throw violation(`tag ${tag} in OK of FILE`);
  });
  return result;
}

export function parseEntryResult(payload: Buffer): CellEntry {
  const { entry } = parseFileResult(payload);
  if (entry === undefined) throw violation('OK of FILE without an entry record');
  return entry;
}

export function parseStatsResult(payload: Buffer): FileSystemStats {
  const { stats } = parseFileResult(payload);
  if (stats === undefined) throw violation('OK of statfs without numbers');
  return stats;
}

function parseStats(block: Buffer): FileSystemStats {
  const at = (offset: number): number => Number(block.readBigUInt64LE(offset));
  return { blockSize: at(0), blocks: at(8), free: at(16), files: at(24), filesFree: at(32) };
}
