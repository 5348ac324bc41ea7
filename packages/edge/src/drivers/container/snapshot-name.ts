import { basename } from 'node:path';
import { VivError } from '@vivarium/protocol';

/** A snapshot's directory name carries the id range of its files: whoever starts from it must use the same. */
export function snapshotName(name: string, slot: number): string {
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(name)) throw new VivError('invalid_argument', `no name for a snapshot: ${name}`);
  return `${name}@${slot}`;
}

/** The id range of a snapshot made by us. */
export function slotOfSnapshot(path: string): number {
  const [, slot] = /@(\d+)$/.exec(basename(path)) ?? [];
  if (slot === undefined) throw new VivError('invalid_argument', `not a snapshot of a container: ${path}`);
  return Number(slot);
}
