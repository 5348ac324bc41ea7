import { closeSync, openSync } from 'node:fs';

/** Open files to append to, at most `max` at a time; the one used longest ago is closed first. */
export class DescriptorCache {
  readonly #max: number;
  readonly #open = new Map<string, number>();

  constructor(max = 512) {
    this.#max = max;
  }

  get size(): number {
    return this.#open.size;
  }

  /** A descriptor that appends to the file (made with mode 0600 where missing). Valid until the next call. */
  get(path: string): number {
    let fd = this.#open.get(path);
    if (fd !== undefined) this.#open.delete(path);
    else {
      if (this.#open.size >= this.#max) this.#evict();
      fd = openSync(path, 'a', 0o600);
    }
    this.#open.set(path, fd);
    return fd;
  }

  /** The file will not be written soon. */
  drop(path: string): void {
    const fd = this.#open.get(path);
    if (fd === undefined) return;
    this.#open.delete(path);
    closeSync(fd);
  }

  close(): void {
    for (const fd of this.#open.values()) closeSync(fd);
    this.#open.clear();
  }

  #evict(): void {
    const oldest = this.#open.keys().next().value;
    if (oldest !== undefined) this.drop(oldest);
  }
}
