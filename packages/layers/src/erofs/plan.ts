import {
  BLOCK,
  DIRENT_BYTES,
  INODE_BYTES,
  LAYOUT,
  type Layout,
  SLOT,
  SUPERBLOCK_BYTES,
  SUPERBLOCK_OFFSET,
  xattrBody,
} from './format.ts';
import type { Entry, Inode } from './inode.ts';
import { align, Slots } from './slots.ts';

/** One inode with its place in the image. */
export type Placed = {
  inode: Inode;
  number: number;
  /** Byte offset of the inode. */
  at: number;
  layout: Layout;
  xattrBytes: number;
  size: number;
  nlink: number;
  /** What of its contents lies in blocks of its own, and where: a block number. */
  blocks: number;
  firstBlock: number;
  /** Of a directory: its entries with `.` and `..`, a list per block. */
  direntBlocks: readonly (readonly PlacedEntry[])[];
};
export type PlacedEntry = { name: Buffer; placed: Placed };

export type Plan = {
  /** In the order of the tree; data comes in this order. The root is first. */
  inodes: readonly Placed[];
  /** Blocks that superblock and inodes take, and all blocks. */
  metadataBlocks: number;
  blocks: number;
  hasChunks: boolean;
};

/** Decides where everything lies: superblock and inodes in front, data behind, both in the order of the tree. */
export function planImage(root: Inode): Plan {
  const tree = new Tree();
  tree.add(root, undefined);
  const slots = new Slots(SUPERBLOCK_OFFSET + SUPERBLOCK_BYTES);
  for (const placed of tree.inodes) {
    placed.at = slots.take(INODE_BYTES + placed.xattrBytes + besideBytes(placed));
  }
  const metadataBlocks = align(slots.end, BLOCK) / BLOCK;
  let next = metadataBlocks;
  for (const placed of tree.inodes) {
    placed.firstBlock = placed.blocks === 0 ? 0 : next;
    next += placed.blocks;
  }
  if (next >= 0xffffffff) throw new Error('an image has fewer than 2^32 blocks');
  const hasChunks = tree.inodes.some(({ layout }) => layout === LAYOUT.chunks);
  return { inodes: tree.inodes, metadataBlocks, blocks: next, hasChunks };
}

/** The number the format knows an inode by. */
export function nidOf({ at }: Placed): number {
  return at / SLOT;
}

/** Bytes that stand behind inode and attributes: a last piece of contents, or a chunk map. */
export function besideBytes({ inode, layout, size }: Placed): number {
  if (layout === LAYOUT.inline) return size % BLOCK;
  const { content } = inode;
  if (layout !== LAYOUT.chunks || content.type !== 'file') return 0;
  return 4 * chunkCount(size, content.holes!.shift);
}

export function chunkCount(size: number, shift: number): number {
  return Math.ceil(size / (BLOCK * 2 ** shift));
}

class Tree {
  readonly inodes: Placed[] = [];
  readonly #known = new Map<Inode, Placed>();

  add(inode: Inode, parent: Placed | undefined): Placed {
    const known = this.#known.get(inode);
    if (known) {
      known.nlink++;
      return known;
    }
    const placed: Placed = {
      inode,
      number: this.inodes.length + 1,
      at: 0,
      layout: LAYOUT.plain,
      xattrBytes: xattrBody(inode.xattrs).length,
      size: 0,
      nlink: 1,
      blocks: 0,
      firstBlock: 0,
      direntBlocks: [],
    };
    this.inodes.push(placed);
    this.#known.set(inode, placed);
    if (inode.content.type === 'directory') this.#directory(placed, inode.content.entries, parent ?? placed);
    else this.#contents(placed);
    return placed;
  }

  #directory(placed: Placed, entries: readonly Entry[], parent: Placed): void {
    const own: PlacedEntry[] = [
      { name: Buffer.from('.'), placed },
      { name: Buffer.from('..'), placed: parent },
    ];
    const children = entries.map(({ name, inode }) => ({ name, placed: this.add(inode, placed) }));
    placed.nlink = 2 + entries.filter(({ inode }) => inode.content.type === 'directory').length;
    const sorted = [...own, ...children].sort((a, b) => Buffer.compare(a.name, b.name));
    placed.direntBlocks = intoBlocks(sorted);
    const last = placed.direntBlocks.at(-1)!.reduce((sum, { name }) => sum + DIRENT_BYTES + name.length, 0);
    this.#place(placed, (placed.direntBlocks.length - 1) * BLOCK + last);
  }

  #contents(placed: Placed): void {
    const { content } = placed.inode;
    if (content.type === 'symlink') this.#place(placed, content.target.length);
    if (content.type !== 'file') return;
    if (!content.holes) return this.#place(placed, content.size);
    const { shift, data } = content.holes;
    placed.layout = LAYOUT.chunks;
    placed.size = content.size;
    const lastBlock = Math.ceil(content.size / BLOCK);
    for (const { first, count } of data) {
      placed.blocks += Math.min((first + count) * 2 ** shift, lastBlock) - first * 2 ** shift;
    }
  }

  /** Contents in whole blocks, the rest beside the inode where it fits. */
  #place(placed: Placed, size: number): void {
    const rest = size % BLOCK;
    const inline = rest > 0 && INODE_BYTES + placed.xattrBytes + rest <= BLOCK;
    placed.size = size;
    placed.layout = inline ? LAYOUT.inline : LAYOUT.plain;
    placed.blocks = inline ? Math.floor(size / BLOCK) : Math.ceil(size / BLOCK);
  }
}

function intoBlocks(entries: readonly PlacedEntry[]): PlacedEntry[][] {
  const blocks: PlacedEntry[][] = [[]];
  let used = 0;
  for (const entry of entries) {
    const bytes = DIRENT_BYTES + entry.name.length;
    if (used + bytes > BLOCK) {
      blocks.push([]);
      used = 0;
    }
    blocks.at(-1)!.push(entry);
    used += bytes;
  }
  return blocks;
}
