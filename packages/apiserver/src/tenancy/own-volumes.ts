import type { VolumeService } from '@vivarium/edge/edge.ts';
import { VivError } from '@vivarium/protocol';
import { guarded } from './guarded.ts';

/** Volumes of one key. */
export function ownVolumes(volumes: VolumeService, owner: string): VolumeService {
  const check = (id: string) => {
    if (volumes.owner(id) !== owner)
      throw new VivError('volume_not_found', `there is no volume ${id}`, { details: { volume: id } });
  };
  const own = (id: string) => {
    check(id);
    return id;
  };
  return {
    create: (request, by) => volumes.create(request, by),
    find: (nameOrId) => {
      const volume = volumes.find(nameOrId, owner);
      check(volume.id);
      return volume;
    },
    list: (page) => volumes.list(page, owner),
    remove: async (id) => volumes.remove(own(id)),
    owner: (id) => volumes.owner(own(id)),
    token: (id) => volumes.token(own(id)),
    files: guarded(volumes.files, check),
  };
}
