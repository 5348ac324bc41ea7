import type { FnService } from '@vivarium/edge/edge.ts';

/** Pools and sessions of one key; the others of its methods are told whose call it is. */
export function ownFn(fn: FnService, owner: string): FnService {
  return {
    run: (call, by, idempotency, room) => fn.run(call, by, idempotency, room),
    warm: (request, by) => fn.warm(request, by),
    pools: () => fn.pools(owner),
    sessions: () => fn.sessions(owner),
    endSession: (name, by) => fn.endSession(name, by),
  };
}
