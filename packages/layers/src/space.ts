import { statfsSync } from 'node:fs';
import { VivError } from '@vivarium/protocol';
import { LAYER_LIMITS } from './limits.ts';

/** Throws `node_disk_full` unless the file system of `directory` has room for `bytes` more and the reserve. */
export function requireSpace(directory: string, bytes: number): void {
  const free = freeBytes(directory);
  if (free >= bytes + LAYER_LIMITS.reserveBytes) return;
  throw new VivError('node_disk_full', `${mib(bytes)} needed, ${mib(free)} free in ${directory}`, {
    details: { neededBytes: bytes, freeBytes: free, directory },
  });
}

/**
 * Turns an error into `node_disk_full` when it says, in a code or in a tool's words (LC_ALL=C), that the disk is full or its quota
 * used up; all else passes.
 */
export function namingFullDisk(thrown: unknown, directory: string): unknown {
  if (thrown instanceof VivError && thrown.code === 'node_disk_full') return thrown;
  const code = (thrown as NodeJS.ErrnoException | undefined)?.code;
  const words =
    thrown instanceof VivError ? `${thrown.message} ${String(thrown.details.output ?? '')}` : String(thrown);
  if (code !== 'ENOSPC' && code !== 'EDQUOT' && !/No space left on device|Disk quota exceeded|ENOSPC/.test(words))
    return thrown;
  return new VivError('node_disk_full', `no space left in ${directory}; nothing was kept`, {
    details: { directory, freeBytes: freeBytes(directory) },
    cause: thrown,
  });
}

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
}

function mib(bytes: number): string {
  return `${Math.ceil(bytes / 1024 ** 2)} MiB`;
}
