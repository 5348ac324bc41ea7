import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { writeFileAtomic } from './atomic-file.ts';

/** A change is on disk after this. */
const SAVE_MS = 300;

/**
 * Which layer files were found right, each with the file's inode number, size and times then, so that a restart need not read gigabytes
 * again. Any write to a file changes its ctime, which no one can set back. The list is a cache: if lost or unreadable, files are read again.
 */
export class VerifiedStamps {
  readonly #file: string;
  readonly #stamps: Map<string, string>;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(file: string) {
    this.#file = file;
    this.#stamps = new Map(Object.entries(load(file)));
  }

  matches(digest: string, path: string): boolean {
    const known = this.#stamps.get(digest);
    return known !== undefined && known === this.stampOf(path);
  }

  /** What identifies the file's present contents, or null when there is no such file. */
  stampOf(path: string): string | null {
    const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stat ? `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}` : null;
  }

  /** `stamp` is the one from before the file was read: a write during the reading is then noticed the next time. */
  remember(digest: string, path: string, stamp: string | null = this.stampOf(path)): void {
    if (stamp === null) return;
    this.#stamps.set(digest, stamp);
    this.#save();
  }

  forget(digests: Iterable<string>): void {
    let changed = false;
    for (const digest of digests) changed = this.#stamps.delete(digest) || changed;
    if (changed) this.#save();
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    if (this.#timer) await this.#write();
  }

  /** Soon, all changes of a moment together: packs make thousands of layers. */
  #save(): void {
    this.#timer ??= setTimeout(() => void this.#write(), SAVE_MS).unref();
  }

  #write(): Promise<void> {
    this.#timer = undefined;
    this.#writing = this.#writing
      .then(() => writeFileAtomic(this.#file, JSON.stringify(Object.fromEntries(this.#stamps))))
      // A full disk must not stop a good layer from being used; it costs another reading after a restart.
      .catch(() => {});
    return this.#writing;
  }
}

function load(file: string): Record<string, string> {
  try {
    return z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return {};
  }
}
