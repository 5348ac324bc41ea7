import type { FileNode } from '@vivarium/builder';
import { type ErrorCode, VivError } from '@vivarium/protocol';
import type { Cell } from '../cell/cell.ts';
import type { Ids } from './owner.ts';

/** Files up to this size are read whole, and several of them are read and written at a time. */
export const SMALL_BYTES = 64 * 1024;
const AT_ONCE = 8;

/** How a file is to be there; null: as the source has it. */
export type Attributes = { owner: Ids | null; mode: number | null };

/**
 * Puts files into a sandbox, by its own viv-init, which resolves every path inside. Paths are absolute, one character per byte. What is in the
 * way gives way as in Docker: a file or link is replaced, a directory stays and is never replaced by a file.
 */
export class Placing {
  readonly #cell: Cell;
  readonly #signal: AbortSignal;
  readonly #known = new Set<string>(['/']);
  /** Made here: nothing is in the way in them. */
  readonly #fresh = new Set<string>();
  readonly #directories: { path: string; mode: number; mtimeNs: bigint }[] = [];
  readonly #pending = new Map<string, Promise<void>>();
  #error: unknown = null;

  constructor(cell: Cell, signal: AbortSignal) {
    this.#cell = cell;
    this.#signal = signal;
  }

  async type(path: string): Promise<'dir' | 'other' | null> {
    try {
      const { type } = await this.#cell.stat(bytes(path), { follow: true, signal: this.#signal });
      return type === 'dir' ? 'dir' : 'other';
    } catch (thrown) {
      const { code } = VivError.from(thrown);
      if (code === 'path_not_found' || code === 'not_directory') return null;
      throw thrown;
    }
  }

  /** Makes a directory and its parents where they are missing, all with this owner and mode. */
  async makeDirectories(path: string, owner: Ids, mode = 0o755): Promise<void> {
    if (this.#known.has(path)) return;
    const type = await this.type(path);
    if (type === 'other') throw new VivError('build_failed', `${utf8(path)} is no directory`);
    if (type === null) {
      await this.makeDirectories(parent(path), owner);
      await this.#makeOne(path, owner, mode);
    }
    this.#known.add(path);
  }

  /** One node at its path; the directory it lies in is there. */
  async place(path: string, node: FileNode, { owner, mode }: Attributes): Promise<void> {
    this.#signal.throwIfAborted();
    if (this.#error) throw this.#error;
    const ids = owner ?? { uid: node.uid, gid: node.gid };
    if (node.type === 'dir') return this.#directory(path, node, ids, mode ?? node.mode);
    if (node.type === 'symlink') return this.#symlink(path, node.link, ids);
    return this.#file(path, node, ids, mode ?? node.mode);
  }

  async link(path: string, existing: string): Promise<void> {
    await this.#settle();
    await this.#replacing(path, () => this.#cell.link(bytes(path), bytes(existing), { signal: this.#signal }));
  }

  /** Waits for all writes; then modes and times of directories, inner ones first. */
  async finish(): Promise<void> {
    await this.#settle();
    for (const { path, mode, mtimeNs } of this.#directories.splice(0).reverse()) {
      await this.#cell.chmod(bytes(path), mode, { signal: this.#signal });
      await this.#cell.utimes(bytes(path), mtimeNs, { signal: this.#signal });
    }
  }

  async #directory(path: string, node: FileNode, owner: Ids, mode: number): Promise<void> {
    if (!this.#known.has(path)) {
      const type = await this.type(path);
      if (type === 'other') throw new VivError('build_failed', `${utf8(path)} is there and is no directory`);
      if (type === null) await this.#makeOne(path, owner, mode | 0o700);
      else await this.#cell.chown(bytes(path), owner, { signal: this.#signal });
      this.#known.add(path);
    }
    this.#directories.push({ path, mode, mtimeNs: node.mtimeNs });
  }

  async #makeOne(path: string, owner: Ids, mode: number): Promise<void> {
    const options = { mode, parents: false, exclusive: false, signal: this.#signal };
    // A link that leads nowhere is in the way.
    await this.#replacing(path, () => this.#cell.mkdir(bytes(path), options));
    this.#fresh.add(path);
    if (owner.uid !== 0 || owner.gid !== 0) await this.#cell.chown(bytes(path), owner, { signal: this.#signal });
  }

  async #file(path: string, node: FileNode, owner: Ids, mode: number): Promise<void> {
    if (node.size > SMALL_BYTES) {
      await this.#settle();
      return this.#write(path, node, node.read(), owner, mode);
    }
    await this.#pending.get(path);
    while (this.#pending.size >= AT_ONCE) await Promise.race(this.#pending.values());
    const writing = readSmall(node)
      .then((content) => this.#write(path, node, [content], owner, mode))
      .catch((error) => {
        this.#error ??= error;
      })
      .finally(() => this.#pending.delete(path));
    this.#pending.set(path, writing);
  }

  async #write(
    path: string,
    node: FileNode,
    body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    { uid, gid }: Ids,
    mode: number,
  ): Promise<void> {
    if (!this.#fresh.has(parent(path))) await this.#removeLink(path);
    const options = { mode, atomic: true, owner: `${uid}:${gid}`, mtimeNs: node.mtimeNs, signal: this.#signal };
    const at = bytes(path);
    await this.#replacing(path, () => this.#cell.write(at, body, options), 'not_regular_file');
  }

  /** A write goes where a link leads; a copy takes the link's place. */
  async #removeLink(path: string): Promise<void> {
    const entry = await this.#cell.stat(bytes(path), { signal: this.#signal }).catch((thrown) => {
      if (VivError.from(thrown).code === 'path_not_found') return null;
      throw thrown;
    });
    if (entry?.type === 'symlink') await this.#cell.remove(bytes(path), { signal: this.#signal });
  }

  async #symlink(path: string, target: string, owner: Ids): Promise<void> {
    await this.#settle();
    const make = (at: string) => this.#cell.symlink(bytes(at), bytes(target), { signal: this.#signal });
    if (owner.uid === 0 && owner.gid === 0) return this.#replacing(path, () => make(path));
    // Only a walk through a directory gives the link itself an owner.
    const aside = `${path}.viv-link`;
    await this.#cell.mkdir(bytes(aside), { signal: this.#signal });
    await make(`${aside}/link`);
    await this.#cell.chown(bytes(aside), owner, { recursive: true, signal: this.#signal });
    await this.#cell.rename(bytes(`${aside}/link`), bytes(path), { signal: this.#signal });
    await this.#cell.remove(bytes(aside), { signal: this.#signal });
  }

  /** Once more after what is in the way (but no directory) is gone. */
  async #replacing(path: string, make: () => Promise<unknown>, inTheWay: ErrorCode = 'path_exists'): Promise<void> {
    try {
      await make();
    } catch (thrown) {
      const { code } = VivError.from(thrown);
      if (code === 'is_directory') throw new VivError('build_failed', `${utf8(path)} is there and is a directory`);
      if (code !== inTheWay) throw thrown;
      const { type } = await this.#cell.stat(bytes(path), { signal: this.#signal });
      if (type === 'dir') throw new VivError('build_failed', `${utf8(path)} is there and is a directory`);
      await this.#cell.remove(bytes(path), { signal: this.#signal });
      await make();
    }
  }

  async #settle(): Promise<void> {
    await Promise.all(this.#pending.values());
    if (this.#error) throw this.#error;
  }
}

/** The content of a small file, whole. */
export async function readSmall(node: Pick<FileNode, 'read'>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const chunk of node.read()) parts.push(Buffer.from(chunk));
  return Buffer.concat(parts);
}

function parent(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

export function bytes(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}

export function utf8(path: string): string {
  return bytes(path).toString('utf8');
}
