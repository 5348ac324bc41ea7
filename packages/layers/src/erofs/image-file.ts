import { createHash, type Hash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { BLOCK, direntBlock, HOLE, inodeHeader, LAYOUT, SUPERBLOCK_OFFSET, superblock, xattrBody } from './format.ts';
import type { Inode, RegularFile } from './inode.ts';
import { besideBytes, chunkCount, nidOf, type Placed, type Plan, planImage } from './plan.ts';

export type Written = { digest: string; sizeBytes: number };

/** Gathers small writes; also the largest piece of a file read at once. */
const BUFFER_BYTES = 1024 * 1024;

/**
 * Writes a tree as an EROFS file, durable when this returns, and says its digest. The same tree gives the same bytes. Blocks: for
 * worker processes. `admit` is told the size before anything is written and may throw. Errors of the file system pass.
 */
export function writeImage(root: Inode, file: string, admit: (bytes: number) => void = () => {}): Written {
  const plan = planImage(root);
  admit(plan.blocks * BLOCK);
  const fd = openSync(file, 'wx', 0o600);
  try {
    const out = new Output(fd);
    writeMetadata(plan, out);
    for (const placed of plan.inodes) writeBlocks(placed, out);
    const digest = out.finish();
    fsyncSync(fd);
    return { digest, sizeBytes: plan.blocks * BLOCK };
  } finally {
    closeSync(fd);
  }
}

function writeMetadata(plan: Plan, out: Output): void {
  const { inodes, blocks, hasChunks } = plan;
  const uuid = uuidOf(plan);
  out.pad(SUPERBLOCK_OFFSET);
  out.write(superblock({ rootNid: nidOf(inodes[0]!), inodes: inodes.length, blocks, uuid, hasChunks }));
  for (const placed of [...inodes].sort((a, b) => a.at - b.at)) {
    out.pad(placed.at - out.written);
    out.write(header(placed));
    out.write(xattrBody(placed.inode.xattrs));
    writeBeside(placed, out);
  }
  out.pad(plan.metadataBlocks * BLOCK - out.written);
}

function header(placed: Placed): Buffer {
  const { inode, layout, size, number, nlink, xattrBytes, firstBlock } = placed;
  const { content } = inode;
  const place = layout === LAYOUT.chunks && content.type === 'file' ? content.holes!.shift : firstBlock;
  return inodeHeader(inode, { layout, size, place, number, nlink, xattrBytes });
}

/** What stands behind the inode: its last bytes, or where its chunks are. */
function writeBeside(placed: Placed, out: Output): void {
  const { content } = placed.inode;
  if (placed.layout === LAYOUT.chunks && content.type === 'file') return out.write(chunkMap(placed, content));
  const bytes = besideBytes(placed);
  if (bytes === 0) return;
  if (content.type === 'directory') out.write(dirents(placed, placed.direntBlocks.length - 1));
  else if (content.type === 'symlink') out.write(content.target.subarray(-bytes));
  else if (content.type === 'file') copy(content, placed.size - bytes, bytes, out);
}

function chunkMap({ size, firstBlock }: Placed, { holes }: RegularFile): Buffer {
  const { shift, data } = holes!;
  const map = Buffer.alloc(4 * chunkCount(size, shift), 0xff);
  let block = firstBlock;
  for (const { first, count } of data) {
    for (let chunk = first; chunk < first + count; chunk++, block += 2 ** shift)
      map.writeUInt32LE(block % HOLE, chunk * 4);
  }
  return map;
}

/** Contents that lie in blocks of their own. */
function writeBlocks(placed: Placed, out: Output): void {
  const { content } = placed.inode;
  if (placed.blocks === 0) return;
  if (content.type === 'directory') {
    for (let i = 0; i < placed.blocks; i++) {
      out.write(dirents(placed, i));
      out.toBlock();
    }
  } else if (content.type === 'symlink') {
    out.write(content.target.subarray(0, placed.blocks * BLOCK));
    out.toBlock();
  } else if (content.type === 'file') {
    for (const { offset, length } of stored(placed, content)) {
      copy(content, offset, length, out);
      out.toBlock();
    }
  }
}

/** The parts of a file that its blocks hold. */
function stored({ size, blocks }: Placed, { holes }: RegularFile): { offset: number; length: number }[] {
  if (!holes) return [{ offset: 0, length: Math.min(size, blocks * BLOCK) }];
  const chunk = BLOCK * 2 ** holes.shift;
  return holes.data.map(({ first, count }) => ({
    offset: first * chunk,
    length: Math.min((first + count) * chunk, size) - first * chunk,
  }));
}

function copy(file: RegularFile, offset: number, length: number, out: Output): void {
  const source = file.open();
  try {
    for (let done = 0; done < length; ) {
      const piece = out.room(Math.min(length - done, BUFFER_BYTES));
      source.read(piece, offset + done);
      done += piece.length;
    }
  } finally {
    source.close();
  }
}

function dirents(placed: Placed, block: number): Buffer {
  return direntBlock(
    placed.direntBlocks[block]!.map(({ name, placed: target }) => ({
      name,
      nid: nidOf(target),
      mode: target.inode.mode,
    })),
  );
}

/** RFC 9562 version 8, from names, metadata and places: the same for the same tree. */
function uuidOf({ inodes }: Plan): Buffer {
  const hash = createHash('sha256');
  for (const placed of inodes) {
    hash.update(header(placed));
    for (const block of placed.direntBlocks) for (const { name } of block) hash.update(name).update('/');
  }
  const uuid = hash.digest().subarray(0, 16);
  uuid[6] = (uuid[6]! & 0x0f) | 0x80;
  uuid[8] = (uuid[8]! & 0x3f) | 0x80;
  return uuid;
}

/** Bytes in order, hashed as they are written. */
class Output {
  written = 0;
  readonly #fd: number;
  readonly #hash: Hash = createHash('sha256');
  readonly #buffer = Buffer.alloc(2 * BUFFER_BYTES);
  #used = 0;

  constructor(fd: number) {
    this.#fd = fd;
  }

  write(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const piece = this.room(Math.min(bytes.length - at, BUFFER_BYTES));
      at += bytes.copy(piece, 0, at);
    }
  }

  /** The next bytes, to be filled at once. */
  room(length: number): Buffer {
    if (this.#used + length > this.#buffer.length) this.#flush();
    const piece = this.#buffer.subarray(this.#used, this.#used + length);
    this.#used += length;
    this.written += length;
    return piece;
  }

  pad(length: number): void {
    for (let left = length; left > 0; ) left -= this.room(Math.min(left, BUFFER_BYTES)).fill(0).length;
  }

  toBlock(): void {
    this.pad((BLOCK - (this.written % BLOCK)) % BLOCK);
  }

  finish(): string {
    this.#flush();
    return `sha256:${this.#hash.digest('hex')}`;
  }

  #flush(): void {
    const bytes = this.#buffer.subarray(0, this.#used);
    this.#hash.update(bytes);
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at);
    this.#used = 0;
  }
}
