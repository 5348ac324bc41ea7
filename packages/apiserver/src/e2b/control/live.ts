import type { Edge } from '@vivarium/edge/edge.ts';
import { type Sandbox, VivError } from '@vivarium/protocol';

const OVER = new Set<Sandbox['state']>(['ending', 'ended', 'failed']);

/** One that has not ended: to E2B's clients any other is not there. Throws `sandbox_not_found`. */
export function live(edge: Edge, id: string): Sandbox {
  const sandbox = edge.sandboxes.get(id);
  if (!OVER.has(sandbox.state)) return sandbox;
  throw new VivError('sandbox_not_found', `sandbox ${id} has ended`, { details: { id } });
}

/** One that runs. Throws `sandbox_not_found`, `sandbox_paused`. */
export function running(edge: Edge, id: string): Sandbox {
  const sandbox = live(edge, id);
  if (sandbox.state === 'paused' || sandbox.state === 'pausing')
    throw new VivError('sandbox_paused', `sandbox ${id} is paused; resume it first`, { details: { id } });
  return sandbox;
}
