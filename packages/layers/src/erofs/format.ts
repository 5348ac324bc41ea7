import type { Inode, Xattr } from './inode.ts';

/**
 * The parts of the EROFS on-disk format that we write (linux/fs/erofs/erofs_fs.h): blocks of 4 KiB, extended inodes, attributes
 * beside them, no compression. Read by Linux ≥ 5.15.
 */
export const BLOCK = 4096;
export const SUPERBLOCK_OFFSET = 1024;
export const SUPERBLOCK_BYTES = 128;
/** Inodes lie at multiples of this; their number is their place divided by it. */
export const SLOT = 32;
export const INODE_BYTES = 64;
export const DIRENT_BYTES = 12;
/** In a chunk map: nothing is stored. */
export const HOLE = 0xffffffff;

export const LAYOUT = { plain: 0, inline: 2, chunks: 4 } as const;
export type Layout = (typeof LAYOUT)[keyof typeof LAYOUT];

const MAGIC = 0xe0f5e1e2;
const COMPAT_MTIME = 0x2;
const INCOMPAT_CHUNKED_FILE = 0x4;
const XATTR_HEADER = 12;
/** The kernel's prefixes of attribute names, by number. */
const XATTR_PREFIXES: readonly [number, string][] = [
  [2, 'system.posix_acl_access'],
  [3, 'system.posix_acl_default'],
  [1, 'user.'],
  [4, 'trusted.'],
  [6, 'security.'],
];
/** Types in directories, by the four type bits of a mode. */
const FILE_TYPES = new Map([
  [0o10, 1],
  [0o04, 2],
  [0o02, 3],
  [0o06, 4],
  [0o01, 5],
  [0o14, 6],
  [0o12, 7],
]);

export type Superblock = {
  rootNid: number;
  inodes: number;
  blocks: number;
  uuid: Buffer;
  hasChunks: boolean;
};

/** `struct erofs_super_block`, without a checksum: a layer's digest covers it. The time in it is always 0. */
export function superblock({ rootNid, inodes, blocks, uuid, hasChunks }: Superblock): Buffer {
  const out = Buffer.alloc(SUPERBLOCK_BYTES);
  out.writeUInt32LE(MAGIC, 0);
  out.writeUInt32LE(COMPAT_MTIME, 8);
  out.writeUInt8(Math.log2(BLOCK), 12);
  out.writeUInt16LE(rootNid, 14);
  out.writeBigUInt64LE(BigInt(inodes), 16);
  out.writeUInt32LE(blocks, 36);
  uuid.copy(out, 48, 0, 16);
  out.writeUInt32LE(hasChunks ? INCOMPAT_CHUNKED_FILE : 0, 80);
  return out;
}

export type InodeFields = {
  layout: Layout;
  size: number;
  /** First data block; of a file in chunks its `struct erofs_inode_chunk_info`, which is the chunks' shift. */
  place: number;
  number: number;
  nlink: number;
  xattrBytes: number;
};

/** `struct erofs_inode_extended`. */
export function inodeHeader(inode: Inode, fields: InodeFields): Buffer {
  const { layout, size, place, number, nlink, xattrBytes } = fields;
  const out = Buffer.alloc(INODE_BYTES);
  const NANO = 1_000_000_000n;
  const nanoseconds = ((inode.mtimeNs % NANO) + NANO) % NANO;
  out.writeUInt16LE(1 | (layout << 1), 0);
  out.writeUInt16LE(xattrBytes === 0 ? 0 : (xattrBytes - XATTR_HEADER) / 4 + 1, 2);
  out.writeUInt16LE(inode.mode, 4);
  out.writeBigUInt64LE(BigInt(size), 8);
  out.writeUInt32LE(place, 16);
  out.writeUInt32LE(number, 20);
  out.writeUInt32LE(inode.uid, 24);
  out.writeUInt32LE(inode.gid, 28);
  out.writeBigInt64LE((inode.mtimeNs - nanoseconds) / NANO, 32);
  out.writeUInt32LE(Number(nanoseconds), 40);
  out.writeUInt32LE(nlink, 44);
  return out;
}

/** Attributes as they stand behind an inode; empty without any. Names without a known prefix can't be stored: they throw. */
export function xattrBody(xattrs: readonly Xattr[]): Buffer {
  if (xattrs.length === 0) return Buffer.alloc(0);
  return Buffer.concat([Buffer.alloc(XATTR_HEADER), ...xattrs.map(xattrEntry)]);
}

function xattrEntry({ name, value }: Xattr): Buffer {
  const [index, prefix] = XATTR_PREFIXES.find(([, start]) => name.startsWith(start)) ?? [];
  if (index === undefined || prefix === undefined) throw new Error(`no place for the attribute ${name}`);
  const rest = Buffer.from(name.slice(prefix.length), 'latin1');
  const out = Buffer.alloc(Math.ceil((4 + rest.length + value.length) / 4) * 4);
  out.writeUInt8(rest.length, 0);
  out.writeUInt8(index, 1);
  out.writeUInt16LE(value.length, 2);
  rest.copy(out, 4);
  value.copy(out, 4 + rest.length);
  return out;
}

export type Dirent = { name: Buffer; nid: number; mode: number };

/** One block of a directory, as long as it needs to be. */
export function direntBlock(dirents: readonly Dirent[]): Buffer {
  const names = dirents.reduce((sum, { name }) => sum + name.length, 0);
  const out = Buffer.alloc(dirents.length * DIRENT_BYTES + names);
  let nameAt = dirents.length * DIRENT_BYTES;
  for (const [i, { name, nid, mode }] of dirents.entries()) {
    out.writeBigUInt64LE(BigInt(nid), i * DIRENT_BYTES);
    out.writeUInt16LE(nameAt, i * DIRENT_BYTES + 8);
    out.writeUInt8(FILE_TYPES.get((mode >> 12) & 0o17) ?? 0, i * DIRENT_BYTES + 10);
    name.copy(out, nameAt);
    nameAt += name.length;
  }
  return out;
}
