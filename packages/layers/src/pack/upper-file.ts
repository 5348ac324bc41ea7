import { type BigIntStats, closeSync, constants, fstatSync, readlinkSync, readSync } from 'node:fs';
import { chunksOf, isSparse } from '../erofs/holes.ts';
import type { Chunks, Content, Source, Xattr } from '../erofs/inode.ts';
import { shiftedId } from '../tree/ids.ts';
import { keptXattr } from '../tree/kept-xattr.ts';
import { libc } from '../tree/libc.ts';
import { openBeneath } from '../tree/open-beneath.ts';
import { getXattr, listXattrs } from '../tree/xattr.ts';
import type { Metadata } from './change-tree.ts';

const lseek = libc.func('int64_t lseek(int fd, int64_t offset, int whence)');
const { SEEK_DATA, SEEK_HOLE } = { SEEK_DATA: 3, SEEK_HOLE: 4 };

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOATIME;

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
  const holes = isSparse(size, stored) ? holesOf(open, size) : undefined;
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

function holesOf(open: () => UpperSource, size: number): Chunks | undefined {
  const source = open();
  try {
    return chunksOf(size, dataOf(source, size));
  } finally {
    source.close();
  }
}

/** Where a file has data: lseek(2). */
function* dataOf(source: UpperSource, size: number): Generator<{ offset: number; length: number }> {
  for (let at = 0; at < size; ) {
    const from = Number(lseek(source.fd, at, SEEK_DATA));
    if (from < 0 || from >= size) break;
    const hole = Number(lseek(source.fd, from, SEEK_HOLE));
    at = hole < 0 ? size : Math.min(hole, size);
    yield { offset: from, length: at - from };
  }
}
