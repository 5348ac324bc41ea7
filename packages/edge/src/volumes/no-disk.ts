import { VivError } from '@vivarium/protocol';
import type { VolumeDisk } from './volume-disk.ts';

/** Of an edge that was given no place for volumes. */
export function noVolumes(trouble: string): VolumeDisk {
  const refuse = (): never => {
    throw new VivError('unsupported', trouble);
  };
  return {
    trouble,
    create: async () => refuse(),
    remove: async () => {},
    list: () => [],
    directory: refuse,
    staging: refuse,
    limit: async () => {},
    usedBytes: () => 0,
    roomBytes: () => 0,
    diskBytes: () => 0,
  };
}
