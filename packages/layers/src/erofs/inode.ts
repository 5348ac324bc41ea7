/** A file system tree as it is to be written. Names and values are bytes. */
export type Inode = {
  /** With the type bits. */
  mode: number;
  uid: number;
  gid: number;
  /** Since the epoch; may be negative. */
  mtimeNs: bigint;
  xattrs: readonly Xattr[];
  content: Content;
};

export type Xattr = { name: string; value: Buffer };

export type Content =
  | Directory
  | RegularFile
  | { type: 'symlink'; target: Buffer }
  /** FIFO, socket, or the character device 0/0 that is a whiteout. */
  | { type: 'special' };

/** Sorted by the bytes of the names, without `.` and `..`. An inode that is named more than once is hard-linked. */
export type Directory = { type: 'directory'; entries: readonly Entry[] };
export type Entry = { name: Buffer; inode: Inode };

/** `holes`: it is sparse; only the chunks that hold data are stored. */
export type RegularFile = { type: 'file'; size: number; holes?: Chunks; open(): Source };

/** Chunks of 4096 << shift bytes; `data` holds the ones with data as ranges of chunk numbers, ascending. */
export type Chunks = { shift: number; data: readonly { first: number; count: number }[] };

/** Where a file's bytes come from while they are written. */
export interface Source {
  /** Fills the buffer from an offset; bytes past the end (or behind a change that cut the file) are zeros. */
  read(buffer: Buffer, offset: number): void;
  close(): void;
}
