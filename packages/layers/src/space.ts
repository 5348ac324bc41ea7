import { VivError } from '@vivarium/protocol';
import { freeBytes } from './free-space.ts';
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
 * Turns a failure that the full disk caused into `node_disk_full`: said by an error code, or the disk is down to the reserve (tools have many
 * words for it). Call it before the half-made files are removed. All else passes.
 */
export function namingFullDisk(thrown: unknown, directory: string): unknown {
  if (thrown instanceof VivError && thrown.code === 'node_disk_full') return thrown;
  const code = (thrown as NodeJS.ErrnoException | undefined)?.code;
  const free = freeBytes(directory);
  if (code !== 'ENOSPC' && code !== 'EDQUOT' && free >= LAYER_LIMITS.reserveBytes) return thrown;
  return new VivError('node_disk_full', `no space left in ${directory}; nothing was kept`, {
    details: { directory, freeBytes: free },
    cause: thrown,
  });
}

function mib(bytes: number): string {
  return `${Math.ceil(bytes / 1024 ** 2)} MiB`;
}
