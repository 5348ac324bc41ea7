import { readFileSync } from 'node:fs';
import { freeBytes } from '@vivarium/layers/free-space.ts';
import { VivError } from '@vivarium/protocol';
import type { Spawner } from '../spawner/client.ts';
import type { OpenedVolumes } from './operations.ts';
import { volumePaths } from './place.ts';
import type { VolumeDisk } from './volume-disk.ts';

export type BtrfsDiskOptions = { stateDir: string; runDir: string; spawner: Spawner };

/**
 * Opens the file system that holds a node's volumes, a sparse file in the state directory. It is made with the first volume. One that
 * can't be mounted is left as it is: the node runs without volumes then, and `trouble` says why.
 */
export async function openBtrfsDisk(options: BtrfsDiskOptions): Promise<VolumeDisk> {
  const disk = new BtrfsDisk(options);
  await disk.open();
  return disk;
}

class BtrfsDisk implements VolumeDisk {
  trouble: string | null = null;
  readonly #options: BtrfsDiskOptions;
  #opened: OpenedVolumes = null;
  #making: Promise<void> | null = null;

  constructor(options: BtrfsDiskOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    try {
      await this.#open(false);
    } catch (error) {
      this.trouble = VivError.from(error).message;
    }
  }

  async create(id: string, limitBytes: number): Promise<void> {
    if (!this.#opened) {
      this.#making ??= this.#open(true).finally(() => {
        this.#making = null;
      });
      await this.#making;
    }
    const { spawner, runDir } = this.#options;
    this.#opened!.subvolumes[id] = await spawner.callAgain<number>('createVolume', { runDir, id, limitBytes });
  }

  async remove(id: string): Promise<void> {
    if (!this.#opened) return;
    const { spawner, runDir } = this.#options;
    await spawner.callAgain('deleteVolume', { runDir, id });
    delete this.#opened.subvolumes[id];
  }

  list(): string[] {
    return Object.keys(this.#opened?.subvolumes ?? {});
  }

  directory(id: string): string {
    return volumePaths.directory(this.#options.runDir, id);
  }

  staging(id: string): string {
    return volumePaths.staging(this.#options.runDir, id);
  }

  async limit(limits: ReadonlyMap<string, number>): Promise<void> {
    const { subvolumes = {} } = this.#opened ?? {};
    const known = [...limits].filter(([id]) => subvolumes[id] !== undefined);
    if (known.length === 0) return;
    const { spawner, runDir } = this.#options;
    await spawner.callAgain('limitVolumes', { runDir, limits: known.map(([id, bytes]) => [subvolumes[id], bytes]) });
  }

  /** The kernel counts what a subvolume refers to (btrfs-qgroup(8)). */
  usedBytes(id: string): number {
    const subvolume = this.#opened?.subvolumes[id];
    if (subvolume === undefined) return 0;
    try {
      return Number(readFileSync(`${this.#opened!.accounts}/0_${subvolume}/referenced`, 'latin1'));
    } catch {
      return 0;
    }
  }

  roomBytes(): number {
    const disk = this.diskBytes();
    return this.#opened ? Math.min(disk, freeBytes(volumePaths.mount(this.#options.runDir))) : disk;
  }

  diskBytes(): number {
    return freeBytes(this.#options.stateDir);
  }

  async #open(make: boolean): Promise<void> {
    const { spawner, stateDir, runDir } = this.#options;
    this.#opened = await spawner.callAgain<OpenedVolumes>('openVolumes', { stateDir, runDir, make });
  }
}
