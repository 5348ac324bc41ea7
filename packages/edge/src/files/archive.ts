import { Readable } from 'node:stream';
import { type ErrorCode, VivError } from '@vivarium/protocol';
import type { CellFiles } from '../cell/cell-files.ts';
import type { CellEntry } from '../cell/entry.ts';
import { BLOCK_BYTES, type TarEntry } from './tar/tar-entry.ts';
import { encodeTarHeader, tarPadding } from './tar/tar-header.ts';

/** Files with several names that are remembered, so that hard links stay links; beyond, they become copies. */
const LINKS_REMEMBERED = 100_000;
const CHUNK_BYTES = 64 * 1024;

/** Whose files they are: a sandbox’s, or a volume’s. */
export type ArchiveSource = Pick<CellFiles, 'list' | 'read'>;
type Options = { user: string | undefined; signal: AbortSignal };

/** A file that was listed and then became something else, or nothing, or may not be read by the user. */
const GONE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'path_not_found',
  'not_directory',
  'not_regular_file',
  'is_directory',
  'path_denied',
]);

/**
 * A tar (GNU format) of a directory's content, or of one file, made while it is read. Sockets, FIFOs and devices are left out, and so is
 * a file that goes away meanwhile or that the user may not read: programs go on in there, and none of them can break off what others read.
 */
export function archive(cell: ArchiveSource, path: Buffer, root: CellEntry, options: Options): Readable {
  const members = root.type === 'dir' ? directory(cell, path, options) : single(cell, path, root, options);
  return Readable.from(members, { objectMode: false, highWaterMark: 256 * 1024 });
}

async function* directory(cell: ArchiveSource, path: Buffer, options: Options): AsyncGenerator<Buffer> {
  const links = new Map<string, Buffer>();
  for await (const entry of listed(cell, path, options)) {
    const name =
      entry.name.toString('latin1') === '.' ? Buffer.from('.') : Buffer.concat([Buffer.from('./'), entry.name]);
    const first = entry.type === 'file' && entry.nlink > 1 ? links.get(`${entry.ino}`) : undefined;
    if (first) {
      yield encodeTarHeader({ ...member(entry, name), type: 'link', link: first });
      continue;
    }
    if (entry.nlink > 1 && entry.type === 'file' && links.size < LINKS_REMEMBERED) links.set(`${entry.ino}`, name);
    yield* content(cell, Buffer.concat([path, Buffer.from('/'), entry.name]), entry, name, options);
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

/** Ends early should the directory itself go away. */
async function* listed(cell: ArchiveSource, path: Buffer, options: Options): AsyncGenerator<CellEntry> {
  try {
    yield* cell.list(path, { ...options, depth: 0, self: true });
  } catch (error) {
    if (!GONE.has(VivError.from(error).code)) throw error;
  }
}

async function* single(cell: ArchiveSource, path: Buffer, entry: CellEntry, options: Options): AsyncGenerator<Buffer> {
  yield* content(cell, path, entry, entry.name, options);
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

async function* content(
  cell: ArchiveSource,
  path: Buffer,
  entry: CellEntry,
  name: Buffer,
  options: Options,
): AsyncGenerator<Buffer> {
  if (entry.type === 'dir' || entry.type === 'symlink') yield encodeTarHeader(member(entry, name));
  if (entry.type !== 'file') return;
  if (entry.size === 0) return void (yield encodeTarHeader(member(entry, name)));
  const opened = await cell.read(path, options).catch((error: unknown) => {
    if (GONE.has(VivError.from(error).code)) return null;
    throw error;
  });
  if (opened === null) return;
  const { entry: now, stream } = opened;
  yield encodeTarHeader(member(now, name));
  yield* exactly(stream, now.size);
}

/** A file that changes while it is read: what is there up to the size that was announced, then zeros, as tar does. */
async function* exactly(stream: Readable, size: number): AsyncGenerator<Buffer> {
  let left = size;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    const part = chunk.subarray(0, left);
    left -= part.length;
    if (part.length > 0) yield part;
    if (left === 0) break;
  }
  for (left += tarPadding(size); left > 0; left -= CHUNK_BYTES) yield Buffer.alloc(Math.min(left, CHUNK_BYTES));
}

function member(entry: CellEntry, name: Buffer): TarEntry {
  const { mode, uid, gid, size, mtimeNs } = entry;
  const type = entry.type === 'dir' || entry.type === 'symlink' ? entry.type : 'file';
  return { type, name, link: entry.target ?? Buffer.alloc(0), mode, uid, gid, size, mtimeNs };
}
