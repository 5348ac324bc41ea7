import type { Edge, SandboxService } from '@vivarium/edge/edge.ts';
import { VivError } from '@vivarium/protocol';
import { guarded } from './guarded.ts';
import { ownVolumes } from './own-volumes.ts';

/** Sandboxes of one key: made with leases and volumes of that key only, listed and told of without those of others. */
export function ownSandboxes(edge: Edge, owner: string, check: (id: string) => void): SandboxService {
  const { sandboxes, leases, volumes } = edge;
  const byId = guarded(sandboxes, check);
  const others: Pick<SandboxService, 'create' | 'list' | 'events'> = {
    create: async (request, by, idempotency) => {
      const { lease } = request;
      for (const { name } of request.volumes) ownVolumes(volumes, owner).find(name, owner);
      if (lease !== undefined && leases.owner(lease) !== owner)
        throw new VivError('lease_not_found', `there is no lease ${lease}`, { details: { id: lease } });
      return sandboxes.create(request, by, idempotency);
    },
    list: (filter, page) => sandboxes.list({ ...filter, owner }, page),
    events: (filter, signal) => {
      if (filter.id !== undefined) check(filter.id);
      return sandboxes.events({ ...filter, owner }, signal);
    },
  };
  return new Proxy(byId, { get: (target, name) => Reflect.get(name in others ? others : target, name) });
}
