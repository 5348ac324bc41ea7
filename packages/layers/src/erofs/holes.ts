import { BLOCK } from './format.ts';
import type { Chunks } from './inode.ts';

/** Holes that are smaller than this together are stored as zeros. */
const HOLES_MIN = 256 * 1024;
/** Chunks of one file: its map then takes a mebibyte at most. */
const CHUNKS_MAX = 256 * 1024;

/** May a file of that size, with so many bytes of data, have holes that are worth it? */
export function isSparse(size: number, stored: number): boolean {
  return size - stored >= HOLES_MIN;
}

/** The chunks of a sparse file that hold its data (ascending parts of it). Undefined when the holes are not worth it. */
export function chunksOf(size: number, data: Iterable<{ offset: number; length: number }>): Chunks | undefined {
  let shift = 0;
  while (size / (BLOCK * 2 ** shift) > CHUNKS_MAX) shift++;
  const chunk = BLOCK * 2 ** shift;
  const ranges: { first: number; count: number }[] = [];
  let chunks = 0;
  for (const { offset, length } of data) {
    const last = ranges.at(-1);
    const next = last ? last.first + last.count : 0;
    const first = Math.max(Math.floor(offset / chunk), next);
    const end = Math.ceil((offset + length) / chunk);
    if (end <= first) continue;
    if (last && first === next) last.count += end - first;
    else ranges.push({ first, count: end - first });
    chunks += end - first;
  }
  return isSparse(size, chunks * chunk) ? { shift, data: ranges } : undefined;
}
