import type { Edge } from '@vivarium/edge/edge.ts';
import { type Key, VivError } from '@vivarium/protocol';
import { guarded } from './guarded.ts';
import { ownFn } from './own-fn.ts';
import { ownLeases } from './own-leases.ts';
import { ownSandboxes } from './own-sandboxes.ts';
import { ownVolumes } from './own-volumes.ts';

/** Views by key; a key object lives as long as the key. */
const views = new WeakMap<Edge, WeakMap<Key, Edge>>();

/**
 * The node as one key may see it: its own sandboxes, volumes and leases; those of others are not there. The scope `admin` sees all. Images are
 * the node's: whoever has the scope may use them all.
 */
export function ownEdge(edge: Edge, key: Key): Edge {
  if (key.scopes.includes('admin')) return edge;
  const ofEdge = views.get(edge) ?? new WeakMap<Key, Edge>();
  views.set(edge, ofEdge);
  const view = ofEdge.get(key) ?? makeView(edge, key.id);
  ofEdge.set(key, view);
  return view;
}

function makeView(edge: Edge, owner: string): Edge {
  const check = (id: string) => {
    if (edge.sandboxes.owner(id) !== owner)
      throw new VivError('sandbox_not_found', `there is no sandbox ${id}`, { details: { id } });
  };
  return {
    sandboxes: ownSandboxes(edge, owner, check),
    execs: guarded(edge.execs, check),
    files: guarded(edge.files, check),
    ports: guarded(edge.ports, check),
    leases: ownLeases(edge.leases, owner),
    images: edge.images,
    builds: edge.builds,
    volumes: ownVolumes(edge.volumes, owner),
    fn: ownFn(edge.fn, owner),
    info: edge.info,
  };
}
