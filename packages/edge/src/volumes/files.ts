import { finished, type Readable } from 'node:stream';
import { VivError, type VolumeEntry } from '@vivarium/protocol';
import type { FilePath, VolumeAttributes, VolumeFileService } from '../edge.ts';
import { archive } from '../files/archive.ts';
import { entryView, joinPath } from '../files/entry-view.ts';
import { unarchive } from '../files/unarchive.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { Gate } from '../lifecycle/gate.ts';
import { requireDisk, requireVolume } from './find.ts';
import type { VolumeEntry as TreeEntry } from './tree/entry.ts';
import { namesOf, pathOf } from './tree/names.ts';
import { VolumeTree } from './tree/volume-tree.ts';

/** Calls of one key that run at once, and that may wait: each holds a few descriptors. */
const AT_ONCE = 64;
const WAITING = 4_096;
/** A call that removed a large tree answers at the latest after this; the rest goes on. */
const REMOVE_MS = 10_000;
const MIB = 1_048_576;
/** Below this much free disk nothing is written, so that what runs does not meet a full disk under its file system. */
const ROOM_MIN_BYTES = 256 * MIB;

/** Files of volumes, worked on by the host (tree/). */
export class VolumeFiles implements VolumeFileService {
  readonly #context: EdgeContext;
  readonly #gates = new Map<string, Gate>();

  constructor(context: EdgeContext) {
    this.#context = context;
  }

  stat(volume: string, path: FilePath): Promise<VolumeEntry> {
    return this.#run(volume, async (tree) => view(await tree.stat(path), path));
  }

  async *list(volume: string, path: FilePath, { depth }: { depth: number }): AsyncGenerator<VolumeEntry> {
    const { tree, leave } = await this.#enter(volume);
    try {
      const base = pathOf(namesOf(path));
      for await (const entry of tree.list(path, { depth })) yield shown(entry, joinPath(base, entry.name));
    } finally {
      leave();
    }
  }

  async read(
    volume: string,
    path: FilePath,
    options: { offset?: number; length?: number },
  ): Promise<{ entry: VolumeEntry; stream: Readable }> {
    return this.#streamed(volume, async (tree) => {
      const { entry, stream } = await tree.read(path, options);
      return { entry: view(entry, path), stream };
    });
  }

  write(
    volume: string,
    path: FilePath,
    body: AsyncIterable<Uint8Array>,
    options: VolumeAttributes & { exclusive: boolean; parents: boolean; fsync: boolean },
  ): Promise<VolumeEntry> {
    this.#checkRoom();
    return this.#run(volume, async (tree) => view(await tree.write(path, body, options), path));
  }

  mkdir(
    volume: string,
    path: FilePath,
    options: VolumeAttributes & { parents: boolean; exclusive: boolean },
  ): Promise<VolumeEntry> {
    return this.#run(volume, async (tree) => view(await tree.mkdir(path, options), path));
  }

  setAttributes(volume: string, path: FilePath, change: VolumeAttributes): Promise<VolumeEntry> {
    return this.#run(volume, async (tree) => view(await tree.setAttributes(path, change), path));
  }

  remove(volume: string, path: FilePath, options: { recursive: boolean }): Promise<void> {
    return this.#run(volume, async (tree) => {
      const { rest } = await tree.remove(path, options);
      const { promise: enough, resolve } = Promise.withResolvers<void>();
      const cancel = this.#context.clock.after(REMOVE_MS, resolve);
      await Promise.race([rest, enough]);
      cancel();
    });
  }

  archive(volume: string, path: FilePath): Promise<Readable> {
    const made = this.#streamed(volume, async (tree) => {
      const root = await tree.stat(path);
      const base = pathOf(namesOf(path));
      if (root.type !== 'dir' && root.type !== 'file' && root.type !== 'symlink')
        throw new VivError('not_regular_file', `${base} is neither a directory nor a file`);
      const abort = new AbortController();
      const stream = archive(tree, base, root, { user: undefined, signal: abort.signal });
      stream.once('close', () => abort.abort());
      return { stream };
    });
    return made.then(({ stream }) => stream);
  }

  unarchive(
    volume: string,
    path: FilePath,
    body: AsyncIterable<Uint8Array>,
    { uid = 1000, gid = uid }: VolumeAttributes,
  ): Promise<{ entries: number; bytes: number }> {
    this.#checkRoom();
    return this.#run(volume, async (tree) => {
      const owner = `${uid}:${gid}`;
      await tree.mkdir(path, { parents: true, uid, gid });
      const base = Buffer.from(path);
      return unarchive(tree, body, { base, user: undefined, owner, signal: new AbortController().signal });
    });
  }

  async #run<T>(volume: string, work: (tree: VolumeTree) => Promise<T>): Promise<T> {
    const { tree, leave } = await this.#enter(volume);
    try {
      return await work(tree);
    } finally {
      leave();
    }
  }

  /** The place is given back when the stream is closed. */
  async #streamed<T extends { stream: Readable }>(volume: string, work: (tree: VolumeTree) => Promise<T>): Promise<T> {
    const { tree, leave } = await this.#enter(volume);
    try {
      const result = await work(tree);
      finished(result.stream, leave);
      return result;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Waits for a place among the calls of the volume's key. */
  async #enter(volume: string): Promise<{ tree: VolumeTree; leave: () => void }> {
    const { keyId, id } = requireVolume(this.#context, volume);
    const disk = requireDisk(this.#context);
    const gate = this.#gates.get(keyId) ?? new Gate('calls to files of volumes', AT_ONCE, WAITING);
    this.#gates.set(keyId, gate);
    const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const running = gate.run(() => {
      enter();
      return left;
    });
    await Promise.race([entered, running]);
    try {
      requireVolume(this.#context, volume);
      return { tree: new VolumeTree({ root: disk.directory(id), staging: disk.staging(id) }), leave };
    } catch (error) {
      leave();
      throw error;
    }
  }

  #checkRoom(): void {
    const { volumeDisk, limits } = this.#context;
    const freeBytes = volumeDisk.roomBytes();
    if (freeBytes < Math.min(ROOM_MIN_BYTES, limits.minFreeDiskBytes))
      throw new VivError('node_disk_full', `${Math.floor(freeBytes / MIB)} MiB of disk are left on the node`, {
        details: { freeBytes },
      });
  }
}

function view(entry: TreeEntry, path: FilePath): VolumeEntry {
  return shown(entry, pathOf(namesOf(path)));
}

function shown(entry: TreeEntry, path: Buffer): VolumeEntry {
  return { ...entryView(entry, path), atimeMs: entry.atimeMs, ctimeMs: entry.ctimeMs };
}
