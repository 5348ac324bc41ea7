import { type BigIntStats, closeSync, constants, fstatSync, readlinkSync, readSync } from 'node:fs';
import koffi from 'koffi';
import type { Chunks, Content, Source, Xattr } from '../erofs/inode.ts';
import { shiftedId } from '../tree/ids.ts';
import { keptXattr } from '../tree/kept-xattr.ts';
import { openBeneath } from '../tree/open-beneath.ts';
import { getXattr, listXattrs } from '../tree/xattr.ts';
import type { Metadata } from './change-tree.ts';

const lseek = koffi.load('libc.so.6').func('int64_t lseek(int fd, int64_t offset, int whence)');
const { SEEK_DATA, SEEK_HOLE } = { SEEK_DATA: 3, SEEK_HOLE: 4 };

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOATIME;
const BLOCK = 4096;
/** Holes that are smaller than this together are stored as zeros. */
const HOLES_MIN = 256 * 1024;
/** Chunks of one file: its map then takes a mebibyte at most. */
const CHUNKS_MAX = 256 * 1024;

/** What a layer says of a file of a sandbox, seen at `path` (not followed). `shift`: first id of its range. */
export function metadataOf(path: Buffer, stat: BigIntStats, shift: number, mtimeNs = stat.mtimeNs): Metadata {
  return {
    mode: Number(stat.mode),
    uid: shiftedId(Number(stat.uid), shift),
    gid: shiftedId(Number(stat.gid), shift),
    mtimeNs,
    xattrs: xattrsOf(path, shift),
  };
}

export function xattrsOf(path: Buffer, shift: number): Xattr[] {
  const kept = listXattrs(path).flatMap((name) => {
    const value = getXattr(path, name);
    const wanted = value && keptXattr(name, value, shift);
    return wanted ? [{ name, value: wanted }] : [];
  });
  return kept.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The contents of anything but a directory. `names`: the way to it from the directory `root`. */
export function contentOf(root: number, names: () => Buffer[], path: Buffer, stat: BigIntStats): Content {
  if (stat.isSymbolicLink()) return { type: 'symlink', target: readlinkSync(path, { encoding: 'buffer' }) };
  if (!stat.isFile()) return { type: 'special' };
  const size = Number(stat.size);
  const open = () => new UpperSource(openBeneath(root, names(), FLAGS));
  const stored = Number(stat.blocks) * 512;
  const holes = size - stored >= HOLES_MIN ? chunksOf(open, size) : undefined;
  return { type: 'file', size, open, ...(holes && { holes }) };
}

/** Reads a file that may be changed or cut meanwhile: what is missing is zeros. */
class UpperSource implements Source {
  readonly fd: number;
  readonly #regular: boolean;

  constructor(fd: number) {
    this.fd = fd;
    this.#regular = fstatSync(fd).isFile();
  }

  read(buffer: Buffer, offset: number): void {
    let done = 0;
    while (this.#regular && done < buffer.length) {
      const count = readSync(this.fd, buffer, done, buffer.length - done, offset + done);
      if (count === 0) break;
      done += count;
    }
    buffer.fill(0, done);
  }

  close(): void {
    closeSync(this.fd);
  }
}

/** Where a sparse file has data: lseek(2). Undefined when the holes are not worth it. */
function chunksOf(open: () => UpperSource, size: number): Chunks | undefined {
  let shift = 0;
  while (size / (BLOCK * 2 ** shift) > CHUNKS_MAX) shift++;
  const chunk = BLOCK * 2 ** shift;
  const data: { first: number; count: number }[] = [];
  let chunks = 0;
  const source = open();
  try {
    for (let at = 0; ; ) {
      const from = Number(lseek(source.fd, at, SEEK_DATA));
      if (from < 0 || from >= size) break;
      const hole = Number(lseek(source.fd, from, SEEK_HOLE));
      const to = hole < 0 ? size : Math.min(hole, size);
      const last = data.at(-1);
      const next = last ? last.first + last.count : 0;
      const first = Math.max(Math.floor(from / chunk), next);
      const end = Math.ceil(to / chunk);
      if (end > first) {
        if (last && first === next) last.count += end - first;
        else data.push({ first, count: end - first });
        chunks += end - first;
      }
      at = to;
      if (at >= size) break;
    }
  } finally {
    source.close();
  }
  return size - chunks * chunk >= HOLES_MIN ? { shift, data } : undefined;
}
