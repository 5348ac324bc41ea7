import { VivError } from '@vivarium/protocol';
import type { EdgeContext } from '../lifecycle/context.ts';
import type { VolumeRow } from '../registry/volume-table.ts';
import type { VolumeDisk } from './volume-disk.ts';

/** A volume that is there. Throws `volume_not_found`. */
export function requireVolume(context: EdgeContext, id: string): VolumeRow {
  const row = context.registry.volumes.get(id);
  if (row?.state === 'ready') return row;
  throw notFound(id);
}

/**
 * By its name among those of one API key; else any by its id. In this order, so that nobody who names a volume like the id of another's
 * comes between a caller and what he means. Throws `volume_not_found`.
 */
export function findVolume(context: EdgeContext, nameOrId: string, keyId: string): VolumeRow {
  const { volumes } = context.registry;
  const named = volumes.all().find((row) => row.name === nameOrId && row.keyId === keyId && row.state === 'ready');
  return named ?? requireVolume(context, nameOrId);
}

/** Throws `unsupported` when the node can't reach the files of its volumes. */
export function requireDisk({ volumeDisk }: EdgeContext): VolumeDisk {
  if (volumeDisk.trouble === null) return volumeDisk;
  throw new VivError('unsupported', `this node can have no volumes now: ${volumeDisk.trouble}`);
}

/** Live sandboxes, also paused ones, by the ids of the volumes that they have. */
export function mountedIn({ boxes }: EdgeContext): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { id, row } of boxes.values())
    for (const volume of new Set(row.volumes?.map((mounted) => mounted.id))) {
      const those = found.get(volume);
      if (those) those.push(id);
      else found.set(volume, [id]);
    }
  return found;
}

function notFound(nameOrId: string): VivError {
  return new VivError('volume_not_found', `there is no volume ${nameOrId}`, { details: { volume: nameOrId } });
}
