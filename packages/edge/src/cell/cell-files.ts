import type { Readable } from 'node:stream';
import type { CellEntry } from './entry.ts';

/** Options of every file operation. */
export type FileOptions = {
  /** Whose permissions count; default root. */
  user?: string | undefined;
  /** A directory beneath which the path must stay; leaving it is `path_escapes`. */
  base?: Uint8Array | undefined;
  /** Ends the operation inside the guest. */
  signal?: AbortSignal | undefined;
};

export type FileWriteOptions = FileOptions & {
  mode?: number | undefined;
  /** Temporary file and rename: an error or abort leaves the old file. */
  atomic?: boolean | undefined;
  append?: boolean | undefined;
  parents?: boolean | undefined;
  exclusive?: boolean | undefined;
  fsync?: boolean | undefined;
  /** Write there, without truncation. */
  offset?: number | undefined;
  /** `user[:group]`. */
  owner?: string | undefined;
};

export type FileRead = {
  entry: CellEntry;
  /** Destroying it ends the read. */
  stream: Readable;
};

export type FileSystemStats = { blockSize: number; blocks: number; free: number; files: number; filesFree: number };

export type CellWatchEvent = {
  kind: 'create' | 'modify' | 'remove' | 'rename_from' | 'rename_to' | 'attributes' | 'overflow' | 'gone';
  cookie: number;
  isDir: boolean;
  /** Relative to the watched directory. */
  path: Buffer;
};
