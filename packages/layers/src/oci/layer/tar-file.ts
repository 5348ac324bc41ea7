import { closeSync, constants, openSync, readlinkSync, readSync } from 'node:fs';
import { chunksOf, isSparse } from '../../erofs/holes.ts';
import type { Content, Inode, Source } from '../../erofs/inode.ts';
import type { LowerEntry } from '../../pack/lower.ts';
import { metadataOf } from '../../pack/upper-file.ts';
import type { RangeReader } from '../file-range.ts';
import { Refusal } from '../refusal.ts';
import type { Segment } from '../tar/sparse.ts';

/** The contents of a file whose bytes lie in the archive. */
export function fileContent(reader: RangeReader, size: number, segments: readonly Segment[]): Content {
  const stored = segments.reduce((sum, { length }) => sum + length, 0);
  const holes = isSparse(size, stored) ? chunksOf(size, segments) : undefined;
  return { type: 'file', size, open: () => new TarSource(reader, segments), ...(holes && { holes }) };
}

/** A hard link to a file of the layers below is a copy of it: layers share no inodes. */
export function copyOfLower({ path, stat }: LowerEntry): Inode {
  const metadata = metadataOf(path, stat, 0);
  if (stat.isSymbolicLink())
    return { ...metadata, content: { type: 'symlink', target: readlinkSync(path, { encoding: 'buffer' }) } };
  if (!stat.isFile()) return { ...metadata, content: { type: 'special' } };
  return { ...metadata, content: { type: 'file', size: Number(stat.size), open: () => new LowerSource(path) } };
}

class TarSource implements Source {
  readonly #reader: RangeReader;
  readonly #segments: readonly Segment[];

  constructor(reader: RangeReader, segments: readonly Segment[]) {
    this.#reader = reader;
    this.#segments = segments;
  }

  read(buffer: Buffer, offset: number): void {
    const [only] = this.#segments;
    const isWhole = only && this.#segments.length === 1 && only.offset === 0 && offset + buffer.length <= only.length;
    if (isWhole) return this.#fill(buffer, only.at + offset);
    buffer.fill(0);
    for (let i = this.#firstAfter(offset); i < this.#segments.length; i++) {
      const { offset: start, length, at } = this.#segments[i]!;
      if (start >= offset + buffer.length) return;
      const from = Math.max(start, offset);
      const to = Math.min(start + length, offset + buffer.length);
      this.#fill(buffer.subarray(from - offset, to - offset), at + from - start);
    }
  }

  close(): void {}

  /** The first part that ends behind the offset. */
  #firstAfter(offset: number): number {
    let [low, high] = [0, this.#segments.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const { offset: start, length } = this.#segments[middle]!;
      if (start + length <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #fill(buffer: Buffer, at: number): void {
    if (this.#reader.read(buffer, at) < buffer.length)
      throw new Refusal('invalid_image', 'the archive became shorter while it was read');
  }
}

class LowerSource implements Source {
  readonly #fd: number;

  constructor(path: Buffer) {
    this.#fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  }

  read(buffer: Buffer, offset: number): void {
    let done = 0;
    while (done < buffer.length) {
      const count = readSync(this.#fd, buffer, done, buffer.length - done, offset + done);
      if (count === 0) break;
      done += count;
    }
    buffer.fill(0, done);
  }

  close(): void {
    closeSync(this.#fd);
  }
}
