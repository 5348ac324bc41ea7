import { mkdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import type { LayerFiles } from './layer-files.ts';
import { mountPoints } from './mountinfo.ts';

/** Does the mounting: the node's spawner, a test's own. Both calls block in the kernel, so they happen in another process or thread. */
export interface Mounter {
  /** Mounts an EROFS file read-only. */
  mountErofs(file: string, directory: string): Promise<void>;
  umount(directory: string): Promise<void>;
}

/** One mount per layer and node, counted. Mounts survive a restart of this process and are found again. */
export class LayerMounts {
  readonly #directory: string;
  readonly #files: LayerFiles;
  readonly #mounter: Mounter;
  readonly #mounted: Set<string>;
  readonly #pending = new Map<string, Promise<void>>();
  readonly #references = new Map<string, number>();

  constructor(directory: string, files: LayerFiles, mounter: Mounter) {
    mkdirSync(directory, { recursive: true });
    this.#directory = directory;
    this.#files = files;
    this.#mounter = mounter;
    const points = mountPoints('erofs');
    this.#mounted = new Set(files.list().filter((digest) => points.has(this.path(digest))));
  }

  path(digest: string): string {
    return join(this.#directory, digest.slice('sha256:'.length));
  }

  isMounted(digest: string): boolean {
    return this.#mounted.has(digest);
  }

  references(digest: string): number {
    return this.#references.get(digest) ?? 0;
  }

  /** Counts one user of each layer, without mounting. The function that comes back takes it off again, once. */
  hold(digests: readonly string[]): () => void {
    for (const digest of digests) this.#count(digest, 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      for (const digest of digests) this.#count(digest, -1);
    };
  }

  /** Mounts what is not mounted yet, after its digest was checked; several callers share one mount(2). Hold the layers meanwhile. Throws `image_corrupt`. */
  async ensure(digests: readonly string[]): Promise<void> {
    for (const digest of digests) {
      if (this.#files.isKnownGood(digest) && this.#mounted.has(digest)) continue;
      await this.#files.ensureGood(digest);
      await this.#ensureMounted(digest);
    }
  }

  /** Unmounts a layer that nobody holds. Returns whether it is unmounted now. */
  async drop(digest: string): Promise<boolean> {
    await this.#pending.get(digest)?.catch(() => {});
    if (this.references(digest) > 0) return false;
    if (!this.#mounted.delete(digest)) return true;
    const path = this.path(digest);
    const unmounting = this.#mounter.umount(path).then(() => rmdirSync(path));
    this.#track(digest, unmounting);
    await unmounting;
    return true;
  }

  async dropUnused(inUse: (digest: string) => boolean): Promise<void> {
    for (const digest of [...this.#mounted]) if (!inUse(digest)) await this.drop(digest);
  }

  async #ensureMounted(digest: string): Promise<void> {
    for (;;) {
      const pending = this.#pending.get(digest);
      if (!pending) break;
      await pending;
    }
    if (this.#mounted.has(digest)) return;
    const mounting = this.#mount(digest);
    this.#track(digest, mounting);
    await mounting;
  }

  async #mount(digest: string): Promise<void> {
    const path = this.path(digest);
    mkdirSync(path, { recursive: true });
    await this.#mounter.mountErofs(this.#files.path(digest), path);
    this.#mounted.add(digest);
  }

  #track(digest: string, work: Promise<void>): void {
    const done = work.finally(() => this.#pending.delete(digest));
    done.catch(() => {});
    this.#pending.set(digest, done);
  }

  #count(digest: string, change: 1 | -1): void {
    const count = this.references(digest) + change;
    if (count > 0) this.#references.set(digest, count);
    else this.#references.delete(digest);
  }
}
