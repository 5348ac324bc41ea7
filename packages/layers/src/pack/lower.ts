import { type BigIntStats, lstatSync, readdirSync } from 'node:fs';
import { getXattr } from '../tree/xattr.ts';

const SLASH = Buffer.from('/');

/** A whiteout: what the overlay puts in the place of a deleted file of a layer below (overlayfs.rst). */
export function isWhiteout(stat: BigIntStats): boolean {
  return stat.isCharacterDevice() && stat.rdev === 0n;
}

/** An opaque directory hides what the layers below have under its name. */
export function isOpaque(path: Buffer): boolean {
  return getXattr(path, 'trusted.overlay.opaque')?.toString('latin1') === 'y';
}

/** One name as the layers show it together. */
export type LowerEntry = { stat: BigIntStats; path: Buffer; directory: LowerDirectory };

/**
 * A directory of an image: the directories of the layers that make it up, topmost first. The layers are ours and immutable, so
 * paths are safe here.
 */
export class LowerDirectory {
  static readonly NONE = new LowerDirectory([]);
  readonly #parts: readonly Buffer[];

  constructor(parts: readonly Buffer[]) {
    this.#parts = parts;
  }

  /** The root of an image whose layers, lowest first, are mounted on these directories. */
  static root(layers: readonly string[]): LowerDirectory {
    return new LowerDirectory(layers.map((layer) => Buffer.from(layer)).reverse());
  }

  /** What the image has under this name, if anything. */
  lookup(name: Buffer): LowerEntry | undefined {
    let top: { stat: BigIntStats; path: Buffer } | undefined;
    const parts: Buffer[] = [];
    for (const part of this.#parts) {
      const path = Buffer.concat([part, SLASH, name]);
      const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
      if (!stat) continue;
      if (isWhiteout(stat) || (top && !stat.isDirectory())) break;
      top ??= { stat, path };
      if (!stat.isDirectory()) break;
      parts.push(path);
      if (isOpaque(path)) break;
    }
    return top && { ...top, directory: parts.length > 0 ? new LowerDirectory(parts) : LowerDirectory.NONE };
  }

  /** All names that the image has here, sorted by their bytes. */
  names(): Buffer[] {
    const names = new Map<string, Buffer>();
    for (const part of this.#parts)
      for (const name of readdirSync(part, { encoding: 'buffer' })) names.set(name.toString('latin1'), name);
    return [...names.values()].filter((name) => this.lookup(name) !== undefined).sort(Buffer.compare);
  }
}
