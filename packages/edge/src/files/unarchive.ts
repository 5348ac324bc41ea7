import { VivError } from '@vivarium/protocol';
import type { CellFiles, FileWriteOptions } from '../cell/cell-files.ts';
import type { TarEntry } from './tar/tar-entry.ts';
import { readTar, type TarMember } from './tar/tar-reader.ts';

/** Files up to this size are read whole and written several at a time. */
const SMALL_BYTES = 64 * 1024;
const AT_ONCE = 8;
/** Directories whose mode and time are set at the end. */
const DIRECTORIES_MAX = 1_000_000;

/** Whose files they become: a sandbox’s, or a volume’s. */
export type UnarchiveTarget = {
  [K in 'symlink' | 'link' | 'mkdir' | 'chown' | 'remove' | 'chmod' | 'utimes']: (
    ...args: Parameters<CellFiles[K]>
  ) => Promise<unknown>;
} & { write(path: Uint8Array, body: Body, options: FileWriteOptions): Promise<unknown> };
type Body = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
type Options = { base: Buffer; user: string | undefined; owner: string | undefined; signal: AbortSignal };

/**
 * Unpacks a tar beneath a directory. Names that are absolute or climb out are refused, and the guest resolves every path beneath the
 * directory, so a link inside the archive can't lead out either: `path_escapes` names the entry, and nothing of it is written. What came
 * before it stays.
 */
export async function unarchive(
  cell: UnarchiveTarget,
  body: AsyncIterable<Uint8Array>,
  options: Options,
): Promise<{ entries: number; bytes: number }> {
  const unpacker = new Unpacker(cell, options);
  try {
    for await (const member of readTar(body)) await unpacker.take(member);
  } finally {
    await unpacker.settle().catch(() => {});
  }
  await unpacker.finish();
  return { entries: unpacker.entries, bytes: unpacker.bytes };
}

class Unpacker {
  entries = 0;
  bytes = 0;
  readonly #cell: UnarchiveTarget;
  readonly #options: Options;
  readonly #directories: { path: Buffer; mode: number; mtimeNs: bigint }[] = [];
  readonly #pending = new Map<string, Promise<void>>();
  #error: VivError | null = null;

  constructor(cell: UnarchiveTarget, options: Options) {
    this.#cell = cell;
    this.#options = options;
  }

  async take({ entry, content }: TarMember): Promise<void> {
    const path = beneath(entry.name);
    if (this.#error) throw this.#error;
    this.entries += 1;
    this.bytes += entry.size;
    switch (entry.type) {
      case 'dir':
        return path ? this.#directory(path, entry) : undefined;
      case 'file':
        return this.#file(required(path, entry), entry, content);
      case 'symlink':
        return this.#replace(required(path, entry), (at) =>
          this.#cell.symlink(at, entry.link, { ...this.#where(), parents: true }),
        );
      case 'link': {
        const target = required(beneath(entry.link), entry);
        return this.#replace(required(path, entry), (at) => this.#cell.link(at, target, this.#where()));
      }
    }
  }

  /** Waits for the files that are being written; throws what one of them failed with. */
  async settle(): Promise<void> {
    await Promise.all(this.#pending.values());
    if (this.#error) throw this.#error;
  }

  /** Modes and times of directories last, inner ones first: writing into them would change both. */
  async finish(): Promise<void> {
    await this.settle();
    for (const { path, mode, mtimeNs } of this.#directories.reverse()) {
      await this.#cell.chmod(path, mode, this.#where());
      await this.#cell.utimes(path, mtimeNs, this.#where());
    }
  }

  async #directory(path: Buffer, entry: TarEntry): Promise<void> {
    if (this.#directories.length >= DIRECTORIES_MAX) {
      throw new VivError('invalid_archive', `more than ${DIRECTORIES_MAX} directories`, {
        details: { maximum: DIRECTORIES_MAX },
      });
    }
    await this.#cell.mkdir(path, { ...this.#where(), mode: entry.mode | 0o700, parents: true });
    if (this.#options.owner) await this.#cell.chown(path, this.#options.owner, this.#where());
    this.#directories.push({ path, mode: entry.mode, mtimeNs: entry.mtimeNs });
  }

  async #file(path: Buffer, entry: TarEntry, content: AsyncIterable<Uint8Array>): Promise<void> {
    if (entry.size > SMALL_BYTES) {
      await this.settle();
      return this.#write(path, entry, content);
    }
    const parts: Uint8Array[] = [];
    for await (const chunk of content) parts.push(Buffer.from(chunk));
    const key = path.toString('latin1');
    await this.#pending.get(key);
    while (this.#pending.size >= AT_ONCE) await Promise.race(this.#pending.values());
    const writing = this.#write(path, entry, parts)
      .catch((error) => {
        this.#error ??= VivError.from(error);
      })
      .finally(() => this.#pending.delete(key));
    this.#pending.set(key, writing);
  }

  async #write(path: Buffer, entry: TarEntry, body: Body): Promise<void> {
    const { owner } = this.#options;
    const { mode, mtimeNs } = entry;
    await this.#cell.write(path, body, { ...this.#where(), mode, mtimeNs, atomic: true, parents: true, owner });
  }

  /** Links can't be made over something; what is there gives way, unless it is a directory with content. */
  async #replace(path: Buffer, make: (path: Buffer) => Promise<unknown>): Promise<void> {
    await this.settle();
    try {
      await make(path);
    } catch (thrown) {
      if (VivError.from(thrown).code !== 'path_exists') throw thrown;
      await this.#cell.remove(path, { ...this.#where(), missingOk: true });
      await make(path);
    }
  }

  #where() {
    const { base, user, signal } = this.#options;
    return { base, user, signal };
  }
}

/** A name relative to the target, in the form `./a/b`; null for the target itself. Throws `path_escapes`. */
export function beneath(name: Buffer): Buffer | null {
  const text = name.toString('latin1');
  const parts = text.split('/').filter((part) => part !== '' && part !== '.');
  if (text.startsWith('/') || parts.includes('..')) {
    throw new VivError('path_escapes', `archive entry "${name}" would land outside the target directory`, {
      details: { name: name.toString() },
    });
  }
  return parts.length === 0 ? null : Buffer.from(`./${parts.join('/')}`, 'latin1');
}

function required(path: Buffer | null, entry: TarEntry): Buffer {
  if (path) return path;
  throw new VivError('invalid_archive', `archive entry "${entry.name}" has no name of its own`);
}
