import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { type FileNode, FileTree } from '@vivarium/builder';
import { decompressed } from '@vivarium/layers/importers/compression.ts';
import { namingFullDisk, requireSpace } from '@vivarium/layers/space.ts';
import { VivError } from '@vivarium/protocol';
import type { TarEntry } from '../files/tar/tar-entry.ts';
import { readTar } from '../files/tar/tar-reader.ts';
import { beneath } from '../files/unarchive.ts';

/** Bounds of one build context; each is named in the error it causes. */
export const CONTEXT_LIMITS = { entries: 500_000, bytes: 32 * 1024 ** 3 };

/**
 * Takes a build context in: names, modes and digests are kept in memory, the contents of all files in one file in `directory`. Nothing of it
 * gets a path on this machine, so no name and no link in it can lead anywhere. Owners don't matter: all is root's, as in Docker.
 * Throws `invalid_archive`, `path_escapes`, `payload_too_large`, `node_disk_full`.
 */
export function receiveContext(
  body: AsyncIterable<Uint8Array>,
  directory: string,
  signal: AbortSignal,
): Promise<FileTree> {
  return receiveContexts(new Map([['', () => body]]), directory, signal);
}

/** The same from several archives, each under a name of its own; '' is the root. */
export async function receiveContexts(
  archives: ReadonlyMap<string, () => AsyncIterable<Uint8Array>>,
  directory: string,
  signal: AbortSignal,
): Promise<FileTree> {
  const path = join(directory, 'context');
  const file = await open(path, 'wx', 0o600);
  try {
    const reception = new Reception(path, file, directory, signal);
    for (const [name, open] of archives) await reception.take(open(), name);
    return await reception.complete();
  } catch (thrown) {
    throw namingFullDisk(thrown, directory);
  } finally {
    await file.close();
  }
}

const WRITE_BYTES = 1024 * 1024;

class Reception {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #directory: string;
  readonly #signal: AbortSignal;
  readonly #tree = new FileTree();
  #bytes = 0;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;

  constructor(path: string, file: FileHandle, directory: string, signal: AbortSignal) {
    this.#path = path;
    this.#file = file;
    this.#directory = directory;
    this.#signal = signal;
  }

  async take(body: AsyncIterable<Uint8Array>, under: string): Promise<void> {
    for await (const { entry, content } of readTar(decompressed(body))) {
      this.#signal.throwIfAborted();
      if (this.#tree.size >= CONTEXT_LIMITS.entries) throw tooLarge('entries', CONTEXT_LIMITS.entries);
      if (this.#bytes + entry.size > CONTEXT_LIMITS.bytes) throw tooLarge('bytes', CONTEXT_LIMITS.bytes);
      const name = nameUnder(under, entry.name);
      if (name !== undefined) this.#tree.set(name, await this.#node(entry, content, under));
    }
  }

  async complete(): Promise<FileTree> {
    await this.#flush();
    return this.#tree;
  }

  async #node(entry: TarEntry, content: AsyncIterable<Uint8Array>, under: string): Promise<FileNode> {
    const { type, mode, mtimeNs } = entry;
    const plain = { mode, uid: 0, gid: 0, mtimeNs, size: 0, link: '', digest: '', read: nothing };
    if (type === 'dir') return { ...plain, type };
    if (type === 'symlink') return { ...plain, type, link: entry.link.toString('latin1') };
    if (type === 'link') return this.#linked(entry, under);
    const start = this.#bytes;
    const digest = createHash('sha256');
    for await (const chunk of content) {
      digest.update(chunk);
      await this.#append(chunk);
    }
    return {
      ...plain,
      type,
      size: entry.size,
      digest: digest.digest('hex'),
      read: reader(this.#path, start, entry.size),
    };
  }

  /** Small files are written together. */
  async #append(chunk: Uint8Array): Promise<void> {
    this.#waiting.push(Buffer.from(chunk));
    this.#waitingBytes += chunk.length;
    this.#bytes += chunk.length;
    if (this.#waitingBytes >= WRITE_BYTES) await this.#flush();
  }

  async #flush(): Promise<void> {
    if (this.#waiting.length === 0) return;
    requireSpace(this.#directory, this.#waitingBytes);
    await writeAll(this.#file, Buffer.concat(this.#waiting));
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
  }

  /** A hard link is another name of a file that came before. */
  #linked(entry: TarEntry, under: string): FileNode {
    const target = nameUnder(under, entry.link);
    const node = target === undefined ? undefined : this.#tree.get(target);
    if (node?.type === 'file') return node;
    throw new VivError(
      'invalid_archive',
      `archive entry "${entry.name}" is a link to "${entry.link}", which is not in it`,
    );
  }
}

/** Undefined: it is the root itself. */
function nameUnder(under: string, path: Buffer): string | undefined {
  const name = beneath(path)?.toString('latin1').slice(2);
  return name === undefined || under === '' ? name : `${under}/${name}`;
}

/** write(2) may take less than it is given. */
async function writeAll(file: FileHandle, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten;
}

function reader(path: string, start: number, size: number): () => AsyncIterable<Uint8Array> {
  if (size === 0) return nothing;
  return () => createReadStream(path, { start, end: start + size - 1, highWaterMark: 256 * 1024 });
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function tooLarge(what: 'entries' | 'bytes', maximum: number): VivError {
  return new VivError('payload_too_large', `the build context has more than ${maximum} ${what}`, {
    details: { maximum, limit: `context ${what}` },
    hint: 'Leave out with .dockerignore what the build does not need.',
  });
}
