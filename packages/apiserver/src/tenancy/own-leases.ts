import type { LeaseService } from '@vivarium/edge/edge.ts';
import { VivError } from '@vivarium/protocol';

/** Leases of one key. */
export function ownLeases(leases: LeaseService, owner: string): LeaseService {
  const own = (id: string) => {
    if (leases.owner(id) !== owner)
      throw new VivError('lease_not_found', `there is no lease ${id}`, { details: { id } });
    return id;
  };
  return {
    create: (request, by) => leases.create(request, by),
    get: (id) => leases.get(own(id)),
    owner: (id) => leases.owner(own(id)),
    find: (label) => leases.find(label, owner),
    list: (page) => leases.list(page, owner),
    renew: (id) => leases.renew(own(id)),
    hold: (id) => leases.hold(own(id)),
    end: async (id) => leases.end(own(id)),
  };
}
