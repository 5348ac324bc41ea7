import { type BigIntStats, closeSync, constants, openSync, readlinkSync, readSync } from 'node:fs';
import type { Metadata } from './change-tree.ts';
import type { LowerEntry } from './lower.ts';
import { xattrsOf } from './upper-file.ts';

const CHUNK_BYTES = 256 * 1024;
const buffers = [Buffer.alloc(CHUNK_BYTES), Buffer.alloc(CHUNK_BYTES)] as const;

/** Is it as the image has it, in all but its time? */
export function sameMetadata(upper: Metadata, lower: LowerEntry): boolean {
  const { stat, path } = lower;
  if (upper.mode !== Number(stat.mode) || upper.uid !== Number(stat.uid) || upper.gid !== Number(stat.gid))
    return false;
  const before = xattrsOf(path, 0);
  const same = ({ name, value }: (typeof before)[number], i: number) =>
    name === before[i]!.name && value.equals(before[i]!.value);
  return upper.xattrs.length === before.length && upper.xattrs.every(same);
}

/** Are the contents of two things of the same type (no directories) the same? A copy in the upper tree need not differ: opening for writing makes one. */
export function sameContents(path: Buffer, stat: BigIntStats, lower: LowerEntry): boolean {
  if (stat.isSymbolicLink())
    return readlinkSync(path, { encoding: 'buffer' }).equals(readlinkSync(lower.path, { encoding: 'buffer' }));
  if (!stat.isFile()) return stat.rdev === lower.stat.rdev;
  return stat.size === lower.stat.size && sameBytes(path, lower.path);
}

function sameBytes(a: Buffer, b: Buffer): boolean {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const left = openSync(a, flags);
  try {
    const right = openSync(b, flags);
    try {
      for (;;) {
        const [readLeft, readRight] = [readSync(left, buffers[0]), readSync(right, buffers[1])];
        if (readLeft !== readRight || buffers[0].compare(buffers[1], 0, readRight, 0, readLeft) !== 0) return false;
        if (readLeft === 0) return true;
      }
    } finally {
      closeSync(right);
    }
  } finally {
    closeSync(left);
  }
}
