import { VivError } from '@vivarium/protocol';
import { admit } from '../gateway/admission.ts';
import type { Door } from '../gateway/gateway.ts';
import { sendFailure } from '../http/failure.ts';
import type { E2bContext } from './context.ts';
import { trafficToken } from './control/sandbox-view.ts';
import { sendClosedPort, sendUnreachable } from './error.ts';
import { awake } from './wake.ts';

/** Ports of sandboxes that were made over this surface are public unless they were made otherwise; those of native ones need a key or token. */
export function portDoor(context: E2bContext): Door {
  const { edge, keys, store, log } = context;
  return {
    admit: async (req, target) => {
      const facts = store.sandboxes.get(target.id);
      if (!facts) return admit(req, target, keys, edge);
      if (!(await awake(context, target.id))) throw new VivError('sandbox_dead', 'The sandbox was not found');
      if (facts.network?.allowPublicTraffic === false) {
        const given = req.headers['e2b-traffic-access-token'];
        if (given !== trafficToken(edge.sandboxes.token(target.id)))
          throw new VivError('forbidden', 'the ports of this sandbox need its traffic access token');
      }
      return { setCookie: undefined };
    },
    fail: (req, res, thrown, target) => {
      const error = VivError.from(thrown);
      if (error.code === 'port_closed') return sendClosedPort(req, res, target.id, target.port);
      if (['sandbox_dead', 'sandbox_not_found', 'sandbox_paused', 'sandbox_lost'].includes(error.code))
        return sendUnreachable(req, res, target.id);
      sendFailure(req, res, thrown, log);
    },
  };
}
