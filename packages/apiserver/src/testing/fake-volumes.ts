import { Readable } from 'node:stream';
import type { Owner, PageRequest, VolumeAttributes, VolumeFileService, VolumeService } from '@vivarium/edge/edge.ts';
import { VivError, type Volume, type VolumeCreate, type VolumeEntry } from '@vivarium/protocol';
import { AT, fakeId } from './fake-sandboxes.ts';

/** Volumes that are rows in a map, with files in another. */
export class FakeVolumes implements VolumeService {
  readonly rows = new Map<string, Volume>();
  readonly owners = new Map<string, string>();
  readonly files = new FakeVolumeFiles(this);

  async create({ name, sizeMiB }: VolumeCreate, owner: Owner): Promise<Volume> {
    if (this.#named(name, owner.keyId)) throw new VivError('volume_exists', `there is a volume ${name}`);
    const volume: Volume = { id: fakeId(), name, sizeMiB, usedBytes: 0, createdAt: AT, sandboxes: [] };
    this.rows.set(volume.id, volume);
    this.owners.set(volume.id, owner.keyId);
    return volume;
  }

  get(id: string): Volume {
    const volume = this.rows.get(id);
    if (!volume) throw new VivError('volume_not_found', `there is no volume ${id}`);
    return volume;
  }

  find(nameOrId: string, keyId: string): Volume {
    return this.#named(nameOrId, keyId) ?? this.get(nameOrId);
  }

  list(page: PageRequest, owner?: string) {
    const items = [...this.rows.values()].filter(({ id }) => owner === undefined || this.owners.get(id) === owner);
    return { items: items.slice(0, page.limit), nextCursor: null };
  }

  async remove(id: string): Promise<void> {
    if (this.get(id).sandboxes.length > 0) throw new VivError('volume_in_use', `volume ${id} is in use`);
    this.rows.delete(id);
  }

  owner(id: string): string {
    this.get(id);
    return this.owners.get(id)!;
  }

  token(id: string): string {
    return `vol_${this.get(id).id}`;
  }

  #named(name: string, keyId: string): Volume | undefined {
    return [...this.rows.values()].find((row) => row.name === name && this.owners.get(row.id) === keyId);
  }
}

/** Files by volume and path; directories are whatever was made. */
export class FakeVolumeFiles implements VolumeFileService {
  readonly content = new Map<string, Buffer>();
  readonly entries = new Map<string, VolumeEntry>();
  readonly #volumes: FakeVolumes;

  constructor(volumes: FakeVolumes) {
    this.#volumes = volumes;
  }

  async stat(volume: string, path: Uint8Array): Promise<VolumeEntry> {
    const entry = this.entries.get(this.#key(volume, path));
    if (!entry) throw new VivError('path_not_found', `${Buffer.from(path)} is not there`);
    return entry;
  }

  async *list(volume: string, path: Uint8Array): AsyncGenerator<VolumeEntry> {
    const begin = this.#key(volume, path).replace(/\/$/, '');
    for (const [key, entry] of this.entries) if (key.startsWith(`${begin}/`)) yield entry;
  }

  async read(volume: string, path: Uint8Array, { offset = 0, length }: { offset?: number; length?: number }) {
    const entry = await this.stat(volume, path);
    if (entry.type === 'dir') throw new VivError('is_directory', `${entry.path} is a directory`);
    const content = this.content.get(this.#key(volume, path))!;
    return { entry, stream: Readable.from([content.subarray(offset, length && offset + length)]) };
  }

  async write(
    volume: string,
    path: Uint8Array,
    body: AsyncIterable<Uint8Array>,
    options: VolumeAttributes & { exclusive: boolean },
  ): Promise<VolumeEntry> {
    const key = this.#key(volume, path);
    if (options.exclusive && this.entries.has(key)) throw new VivError('path_exists', `${Buffer.from(path)} is there`);
    const parts: Uint8Array[] = [];
    for await (const chunk of body) parts.push(Buffer.from(chunk));
    this.content.set(key, Buffer.concat(parts));
    return this.#put(key, 'file', options);
  }

  async mkdir(volume: string, path: Uint8Array, options: VolumeAttributes): Promise<VolumeEntry> {
    return this.#put(this.#key(volume, path), 'dir', options);
  }

  async setAttributes(volume: string, path: Uint8Array, change: VolumeAttributes): Promise<VolumeEntry> {
    const entry = await this.stat(volume, path);
    return this.#put(this.#key(volume, path), entry.type, { ...entry, ...change });
  }

  async remove(volume: string, path: Uint8Array): Promise<void> {
    await this.stat(volume, path);
    this.entries.delete(this.#key(volume, path));
  }

  async archive(volume: string, path: Uint8Array): Promise<Readable> {
    await this.stat(volume, path);
    return Readable.from([Buffer.alloc(1024)]);
  }

  async unarchive(volume: string, _path: Uint8Array, body: AsyncIterable<Uint8Array>) {
    this.#volumes.get(volume);
    let bytes = 0;
    for await (const chunk of body) bytes += chunk.length;
    return { entries: 1, bytes };
  }

  #put(key: string, type: VolumeEntry['type'], { mode, uid = 1000, gid = 1000 }: VolumeAttributes): VolumeEntry {
    const path = key.slice(key.indexOf(':') + 1);
    const entry: VolumeEntry = {
      name: path.slice(path.lastIndexOf('/') + 1),
      path,
      type,
      mode: mode ?? (type === 'dir' ? 0o755 : 0o644),
      uid,
      gid,
      sizeBytes: this.content.get(key)?.length ?? 0,
      mtimeMs: 1,
      atimeMs: 1,
      ctimeMs: 1,
      nlink: 1,
    };
    this.entries.set(key, entry);
    return entry;
  }

  #key(volume: string, path: Uint8Array): string {
    this.#volumes.get(volume);
    return `${volume}:/${Buffer.from(path).toString().replace(/^\/+/, '')}`;
  }
}
