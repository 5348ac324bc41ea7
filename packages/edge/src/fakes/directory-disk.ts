import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { VolumeDisk } from '../volumes/volume-disk.ts';

/** Volumes that are directories: no limits, no mounts, no root needed. Tests only. */
export class DirectoryDisk implements VolumeDisk {
  trouble: string | null = null;
  used = 0;
  room = Number.POSITIVE_INFINITY;
  /** As they were changed. */
  readonly limits = new Map<string, number>();
  /** Makes and removals wait for it. */
  before: () => Promise<void> = async () => {};
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
  }

  async create(id: string): Promise<void> {
    await this.before();
    mkdirSync(this.directory(id), { recursive: true });
    mkdirSync(this.staging(id));
  }

  async remove(id: string): Promise<void> {
    await this.before();
    rmSync(join(this.#base, id), { recursive: true, force: true });
  }

  list(): string[] {
    return existsSync(this.#base) ? readdirSync(this.#base) : [];
  }

  directory(id: string): string {
    return join(this.#base, id, 'data');
  }

  staging(id: string): string {
    return join(this.#base, id, 'staging');
  }

  async limit(limits: ReadonlyMap<string, number>): Promise<void> {
    for (const [id, bytes] of limits) this.limits.set(id, bytes);
  }

  usedBytes(): number {
    return this.used;
  }

  diskBytes(): number {
    return this.room;
  }

  roomBytes(): number {
    return this.room;
  }
}
