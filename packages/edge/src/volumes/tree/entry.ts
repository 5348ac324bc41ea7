import type { BigIntStats } from 'node:fs';
import { type FileHandle, lstat, readlink } from 'node:fs/promises';
import type { CellEntry } from '../../cell/entry.ts';
import { at } from './descent.ts';

/** An entry with the times that only the host sees. */
export type VolumeEntry = CellEntry & { atimeMs: number; ctimeMs: number };

/** What stat(2) says of a path. `target`: where it points, of a link. */
export function entryOf(name: Buffer, stats: BigIntStats, target: Buffer | null): VolumeEntry {
  return {
    type: typeOf(stats),
    mode: Number(stats.mode & 0o7777n),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    nlink: Number(stats.nlink),
    ino: stats.ino,
    size: Number(stats.size),
    mtimeNs: stats.mtimeNs,
    rdev: stats.rdev,
    name,
    target,
    atimeMs: Number(stats.atimeNs / 1000n) / 1000,
    ctimeMs: Number(stats.ctimeNs / 1000n) / 1000,
  };
}

/** A name in a directory; undefined when it is gone. */
export async function look(directory: FileHandle, name: Buffer, shown: Buffer): Promise<VolumeEntry | undefined> {
  try {
    const path = at(directory, name);
    const stats = await lstat(path, { bigint: true });
    return entryOf(shown, stats, stats.isSymbolicLink() ? await readlink(path, 'buffer') : null);
  } catch (error) {
    // Also EINVAL: it was a link a moment ago.
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EINVAL') return undefined;
    throw error;
  }
}

function typeOf(stats: BigIntStats): CellEntry['type'] {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'dir';
  if (stats.isSymbolicLink()) return 'symlink';
  if (stats.isFIFO()) return 'fifo';
  if (stats.isSocket()) return 'socket';
  return stats.isCharacterDevice() ? 'char' : 'block';
}
