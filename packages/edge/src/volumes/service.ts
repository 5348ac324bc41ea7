import { decodeCursor, isoTime, pageOf } from '@vivarium/core';
import { VivError, type Volume, type VolumeCreate } from '@vivarium/protocol';
import type { Owner, PageOf, PageRequest, VolumeService } from '../edge.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import type { VolumeRow } from '../registry/volume-table.ts';
import { DiskGuard } from './disk-guard.ts';
import { VolumeFiles } from './files.ts';
import { findVolume, mountedIn, requireDisk, requireVolume } from './find.ts';
import { reconcile } from './reconcile.ts';

const MIB = 1_048_576;
/** Volumes of one key, and of the node. */
const PER_KEY_MAX = 1_000;
const ALL_MAX = 10_000;

/** Volumes: made, found, removed. What they hold is for files.ts; where sandboxes have them, mounts.ts. */
export class Volumes implements VolumeService {
  readonly files: VolumeFiles;
  readonly #context: EdgeContext;
  readonly #guard: DiskGuard;

  constructor(context: EdgeContext) {
    this.#context = context;
    this.#guard = new DiskGuard(context);
    this.files = new VolumeFiles(context);
  }

  /** Brings rows and files together after a start. */
  async open(): Promise<void> {
    await reconcile(this.#context);
    this.#guard.arm();
  }

  async create({ name, sizeMiB }: VolumeCreate, owner: Owner): Promise<Volume> {
    const { registry, volumeDisk, newId, clock, random } = this.#context;
    this.#checkRoom();
    this.#checkNumber(name, owner);
    const row: VolumeRow = {
      id: newId(),
      keyId: owner.keyId,
      name,
      sizeMiB,
      token: `vol_${Buffer.from(random.bytes(24)).toString('base64url')}`,
      createdAt: clock.now(),
      state: 'making',
    };
    registry.write(() => registry.volumes.put(row));
    try {
      await volumeDisk.create(row.id, sizeMiB * MIB);
      registry.write(() => registry.volumes.put({ ...row, state: 'ready' }));
    } catch (error) {
      await this.#drop(row).catch((err) => this.#context.log.error({ err, volume: row.id }, 'undoing a volume failed'));
      throw error;
    }
    this.#guard.arm();
    return this.#view(row);
  }

  find(nameOrId: string, keyId: string): Volume {
    return this.#view(findVolume(this.#context, nameOrId, keyId));
  }

  list(page: PageRequest, owner?: string): PageOf<Volume> {
    const after = page.cursor === undefined ? '' : decodeCursor(page.cursor);
    const mounted = mountedIn(this.#context);
    const rows = this.#context.registry.volumes
      .all()
      .filter((row) => row.state === 'ready' && row.id > after && (owner === undefined || row.keyId === owner));
    return pageOf(
      rows.slice(0, page.limit + 1).map((row) => this.#view(row, mounted)),
      page.limit,
      ({ id }) => id,
    );
  }

  async remove(id: string): Promise<void> {
    const { registry } = this.#context;
    const row = requireVolume(this.#context, id);
    requireDisk(this.#context);
    const sandboxes = mountedIn(this.#context).get(id) ?? [];
    if (sandboxes.length > 0)
      throw new VivError(
        'volume_in_use',
        `volume ${row.name} is mounted in ${sandboxes.length} sandboxes: ${sandboxes.slice(0, 10).join(', ')}`,
        { details: { id, sandboxes: sandboxes.slice(0, 1000) } },
      );
    // From here on nobody finds it, and its name is free.
    registry.write(() => registry.volumes.put({ ...row, state: 'removing' }));
    await this.#drop(row);
  }

  owner(id: string): string {
    return requireVolume(this.#context, id).keyId;
  }

  token(id: string): string {
    return requireVolume(this.#context, id).token;
  }

  async #drop({ id }: VolumeRow): Promise<void> {
    const { registry, volumeDisk } = this.#context;
    await volumeDisk.remove(id);
    registry.write(() => registry.volumes.delete(id));
  }

  #checkRoom(): void {
    const { limits, draining } = this.#context;
    if (draining) throw new VivError('shutting_down', 'the node is stopping and takes no new volumes');
    const freeBytes = requireDisk(this.#context).roomBytes();
    if (freeBytes < limits.minFreeDiskBytes)
      throw new VivError(
        'node_disk_full',
        `${Math.floor(freeBytes / MIB)} MiB are left for volumes, a new one needs ${limits.minFreeDiskBytes / MIB} MiB`,
        { details: { freeBytes, neededBytes: limits.minFreeDiskBytes } },
      );
  }

  #checkNumber(name: string, { keyId }: Owner): void {
    const all = this.#context.registry.volumes.all().filter(({ state }) => state !== 'removing');
    const own = all.filter((row) => row.keyId === keyId);
    if (own.some((row) => row.name === name))
      throw new VivError('volume_exists', `this key has a volume named ${name} already`, { details: { name } });
    if (own.length >= PER_KEY_MAX || all.length >= ALL_MAX)
      throw new VivError('quota_exceeded', `at most ${PER_KEY_MAX} volumes per key, ${ALL_MAX} per node`, {
        details: { live: own.length, maximum: PER_KEY_MAX },
      });
  }

  #view({ id, name, sizeMiB, createdAt }: VolumeRow, mounted = mountedIn(this.#context)): Volume {
    const usedBytes = this.#context.volumeDisk.usedBytes(id);
    return { id, name, sizeMiB, usedBytes, createdAt: isoTime(createdAt), sandboxes: mounted.get(id) ?? [] };
  }
}
