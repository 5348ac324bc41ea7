import { link, symlink, utimes } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { VivError } from '@vivarium/protocol';
import { at, itself, openContent, openDirectory, openParent, openPath } from './descent.ts';
import { type Attributes, makeDirectories, makeDirectory, setAttributes } from './directories.ts';
import { entryOf, look, type VolumeEntry } from './entry.ts';
import { named } from './failure.ts';
import { namesOf, pathOf } from './names.ts';
import { type Place, removePath } from './removal.ts';
import { type WriteOptions, writeFile } from './upload.ts';
import { type WalkOptions, walk } from './walk.ts';

const CHUNK_BYTES = 256 * 1024;
/** Who owns what is written from outside, unless the call says: the first user of most images. */
export const OWNER = { uid: 1000, gid: 1000 };
export const FILE_MODE = 0o644;
export const DIRECTORY_MODE = 0o755;

type Owner = string | { uid: number; gid: number };
/** `base`: a directory of the volume beneath which the path stays. */
type Beneath = { base?: Uint8Array | undefined };

/**
 * The files of one volume, as the host handles them: what lies there was written by sandboxes, so no path of it is trusted
 * (descent.ts). It has the calls that tar archives need of a cell's files (files/archive.ts, files/unarchive.ts).
 */
export class VolumeTree {
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
  }

  /** Of the path itself: a link is shown, not followed. */
  async stat(path: Uint8Array): Promise<VolumeEntry> {
    const names = namesOf(path);
    return named(names, async () => {
      if (names.length === 0) {
        await using root = await openPath(this.#place.root, names);
        return entryOf(Buffer.from('/'), await root.stat({ bigint: true }), null);
      }
      await using found = await openParent(this.#place.root, names);
      const entry = await look(found.parent, found.name, found.name);
      if (!entry) throw errno('ENOENT');
      return entry;
    });
  }

  async *list(path: Uint8Array, options: Partial<WalkOptions> = {}): AsyncGenerator<VolumeEntry, void, undefined> {
    yield* walk(this.#place.root, namesOf(path), { depth: 1, ...options });
  }

  /** A regular file. Destroying the stream ends it. */
  async read(
    path: Uint8Array,
    { offset = 0, length }: { offset?: number | undefined; length?: number | undefined } = {},
  ): Promise<{ entry: VolumeEntry; stream: Readable }> {
    const names = namesOf(path);
    return named(names, async () => {
      await using found = await openPath(this.#place.root, names);
      const entry = entryOf(names.at(-1) ?? Buffer.from('/'), await found.stat({ bigint: true }), null);
      if (entry.type !== 'file') throw notRegular(entry, names);
      const content = await openContent(found);
      const end = length === undefined ? undefined : offset + length - 1;
      const stream = content.createReadStream({ start: offset, end, highWaterMark: CHUNK_BYTES });
      return { entry, stream };
    });
  }

  /** See upload.ts. `owner` (uid:gid) stands for uid and gid. */
  async write(
    path: Uint8Array,
    body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: Partial<WriteOptions> & Beneath & { owner?: Owner | undefined } = {},
  ): Promise<VolumeEntry> {
    const names = beneath(options, path);
    return writeFile(this.#place, names, body, { ...attributes(options, FILE_MODE), ...rest(options) });
  }

  /** `exclusive`: fails with `path_exists` when it is there. Mode and owner are those of what is made, missing parents have its owner. */
  async mkdir(
    path: Uint8Array,
    options: Partial<Attributes> & Beneath & { parents?: boolean | undefined; exclusive?: boolean | undefined } = {},
  ): Promise<VolumeEntry> {
    const { root } = this.#place;
    const names = beneath(options, path);
    return named(names, async () => {
      const wanted = attributes(options, DIRECTORY_MODE);
      if (options.parents) await this.#above(names, wanted);
      await using above = await openDirectory(root, names.slice(0, -1));
      const name = names.at(-1);
      const made = name !== undefined && (await makeDirectory(above, name, wanted));
      if (options.exclusive && !made) throw errno('EEXIST');
      const entry = await this.stat(pathOf(names));
      if (entry.type !== 'dir') throw errno('EEXIST');
      return entry;
    });
  }

  async setAttributes(path: Uint8Array, change: Partial<Attributes>): Promise<VolumeEntry> {
    const names = namesOf(path);
    return named(names, async () => {
      if (names.length === 0) throw new VivError('invalid_argument', 'the root of a volume stays as it is');
      await using found = await openPath(this.#place.root, names);
      await setAttributes(found, change);
      return entryOf(names.at(-1)!, await found.stat({ bigint: true }), null);
    });
  }

  remove(path: Uint8Array, { base, recursive = false }: Beneath & { recursive?: boolean } = {}) {
    return removePath(this.#place, beneath({ base }, path), recursive);
  }

  async chmod(path: Uint8Array, mode: number, options: Beneath = {}): Promise<void> {
    await this.setAttributes(pathOf(beneath(options, path)), { mode });
  }

  async chown(path: Uint8Array, owner: Owner, options: Beneath = {}): Promise<void> {
    await this.setAttributes(pathOf(beneath(options, path)), ownerOf(owner));
  }

  async utimes(path: Uint8Array, mtimeNs: bigint, options: Beneath = {}): Promise<void> {
    const names = beneath(options, path);
    await named(names, async () => {
      await using found = await openPath(this.#place.root, names);
      await utimes(itself(found), Number(mtimeNs) / 1e9, Number(mtimeNs) / 1e9);
    });
  }

  async symlink(path: Uint8Array, target: Uint8Array, options: Beneath = {}): Promise<void> {
    const names = beneath(options, path);
    await named(names, async () => {
      if (names.length > 1) await this.#above(names, { ...OWNER, mode: DIRECTORY_MODE });
      await using found = await openParent(this.#place.root, names);
      await symlink(Buffer.from(target), at(found.parent, found.name));
      await using made = await openPath(this.#place.root, names);
      await setAttributes(made, OWNER);
    });
  }

  /** Another name of a file; both lie beneath the base. */
  async link(path: Uint8Array, target: Uint8Array, options: Beneath = {}): Promise<void> {
    const names = beneath(options, path);
    await named(names, async () => {
      await using from = await openParent(this.#place.root, beneath(options, target));
      await using to = await openParent(this.#place.root, names);
      await link(at(from.parent, from.name), at(to.parent, to.name));
    });
  }

  async #above(names: readonly Buffer[], owner: Attributes): Promise<void> {
    const above = { ...owner, mode: DIRECTORY_MODE };
    await (await makeDirectories(this.#place.root, names.slice(0, -1), above)).close();
  }
}

/** What the file system would have said. */
function errno(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function beneath({ base }: Beneath, path: Uint8Array): Buffer[] {
  return base === undefined ? namesOf(path) : [...namesOf(base), ...namesOf(path)];
}

function attributes(asked: Partial<Attributes> & { owner?: Owner | undefined }, mode: number): Attributes {
  const { uid, gid } = asked.owner === undefined ? { ...OWNER, ...given(asked) } : ownerOf(asked.owner);
  return { mode: asked.mode ?? mode, uid, gid };
}

function given({ uid, gid }: Partial<Attributes>): Partial<Attributes> {
  return { ...(uid !== undefined && { uid }), ...(gid !== undefined && { gid }) };
}

function rest({ exclusive, parents, fsync, mtimeNs }: Partial<WriteOptions>) {
  return { exclusive, parents, fsync, mtimeNs };
}

/** As such or `uid:gid`, as our own callers write it. */
function ownerOf(owner: Owner): { uid: number; gid: number } {
  if (typeof owner !== 'string') return owner;
  const [uid, gid] = owner.split(':').map(Number);
  return { uid: uid!, gid: gid! };
}

function notRegular({ type }: VolumeEntry, names: readonly Buffer[]): VivError {
  const path = pathOf(names).toString();
  if (type === 'dir') return new VivError('is_directory', `${path} is a directory`, { details: { path } });
  const why = type === 'symlink' ? 'a symbolic link, and links in volumes are not followed' : `a ${type}`;
  return new VivError('not_regular_file', `${path} is ${why}`, { details: { path } });
}
