import { createReadStream, type Stats } from 'node:fs';
import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import tar from 'tar-stream';

export type TreeProgress = { entries: number; bytes: number };

/**
 * A local directory (its content, with paths relative to it) or file as a tar stream, made while it is read. Sockets,
 * pipes and devices are left out. Owners are carried over with `owners` only: else what arrives belongs to root or to the
 * `owner` of the call.
 */
export function packTree(
  path: string,
  { onProgress = () => {}, owners = false }: { onProgress?: (progress: TreeProgress) => void; owners?: boolean } = {},
): AsyncIterable<Uint8Array> {
  const pack = tar.pack();
  packInto(pack, path, { onProgress, owners });
  return blocks(pack);
}

export type PackOptions = {
  onProgress?: (progress: TreeProgress) => void;
  owners?: boolean;
  /** Leaves out a path (relative, with `/`), with all in it. */
  skip?: (path: string, isDirectory: boolean) => boolean;
};

/** Files that are looked at together. */
const AHEAD = 32;
const BLOCK_BYTES = 131_072;

/**
 * The bytes of a pack in pieces of some size: headers and small files one by one would cost more to send than to read. A pack
 * that fails before anybody reads throws its error all the same: without a listener it would be an uncaught one, and its
 * reader would wait for ever.
 */
export function blocks(pack: tar.Pack): AsyncGenerator<Uint8Array> {
  let failure: Error | undefined;
  pack.on('error', (error: Error) => {
    failure ??= error;
  });
  return inBlocks(pack, () => failure);
}

async function* inBlocks(pack: tar.Pack, failure: () => Error | undefined): AsyncGenerator<Uint8Array> {
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of pack as unknown as AsyncIterable<Uint8Array>) {
      waiting.push(chunk);
      bytes += chunk.length;
      if (bytes < BLOCK_BYTES) continue;
      yield waiting.length === 1 ? chunk : Buffer.concat(waiting);
      waiting = [];
      bytes = 0;
    }
  } catch (error) {
    throw failure() ?? error;
  }
  if (bytes > 0) yield Buffer.concat(waiting);
}

/** Fills a pack with a tree, then with what `last` adds, and ends it. Errors end the pack. */
export function packInto(
  pack: tar.Pack,
  path: string,
  { onProgress = () => {}, owners = false, skip = () => false }: PackOptions,
  last: () => Promise<void> = async () => {},
): void {
  const progress = { entries: 0, bytes: 0 };
  const add = async (from: string, name: string, known?: Promise<Stats>): Promise<void> => {
    const stat = await (known ?? lstat(from));
    if (skip(name, stat.isDirectory())) return;
    const header = {
      name,
      mode: stat.mode & 0o7777,
      mtime: stat.mtime,
      uid: owners ? stat.uid : 0,
      gid: owners ? stat.gid : 0,
    };
    if (stat.isDirectory()) {
      if (name !== '') pack.entry({ ...header, name: `${name}/`, type: 'directory' });
      const children = (await readdir(from)).sort();
      for (let at = 0; at < children.length; at += AHEAD) {
        const some = children.slice(at, at + AHEAD).map((child) => [child, lstat(join(from, child))] as const);
        for (const [, ahead] of some) ahead.catch(() => {});
        for (const [child, ahead] of some)
          await add(join(from, child), name === '' ? child : `${name}/${child}`, ahead);
      }
    } else if (stat.isSymbolicLink()) {
      pack.entry({ ...header, type: 'symlink', linkname: await readlink(from), size: 0 });
    } else if (stat.isFile()) {
      await addFile(pack, from, { ...header, type: 'file', size: stat.size }, (bytes) => {
        progress.bytes += bytes;
        onProgress(progress);
      });
    } else return;
    progress.entries++;
    onProgress(progress);
  };
  lstat(path)
    .then((stat) => add(path, stat.isDirectory() ? '' : basename(path)))
    .then(last)
    .then(
      () => pack.finalize(),
      (error: Error) => pack.destroy(error),
    );
}

/** A file that shrinks while it is read ends the transfer with an error rather than shift all that follows. */
export async function addFile(
  pack: tar.Pack,
  from: string,
  header: Partial<tar.Header> & { name: string; size: number },
  onBytes: (bytes: number) => void,
): Promise<void> {
  const entry = pack.entry(header);
  // Destroying the pack destroys the entry; the pack itself tells its reader.
  entry.on('error', () => {});
  let left = header.size;
  if (left > 0) {
    for await (const chunk of chunksOf(from, left)) {
      if (pack.destroying) return;
      left -= chunk.length;
      if (!entry.write(chunk)) await writable(entry);
      onBytes(chunk.length);
    }
  }
  if (left > 0) throw new VivError('file_error', `${from} became shorter while it was read`);
  entry.end(undefined);
}

/** A stream for each small file would take most of the time. */
const WHOLE_BYTES = 262_144;

async function* chunksOf(path: string, size: number): AsyncGenerator<Buffer> {
  if (size <= WHOLE_BYTES) yield (await readFile(path)).subarray(0, size);
  else yield* createReadStream(path, { end: size - 1, highWaterMark: WHOLE_BYTES }) as AsyncIterable<Buffer>;
}

function writable(stream: ReturnType<tar.Pack['entry']>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('close', done);
  });
}
