import { E2bNetworkUpdate } from '@vivarium/protocol/e2b/control.ts';
import { type ControlRoute, route } from './control-call.ts';
import { running } from './live.ts';
import { checkNetwork, keptNetwork } from './network-rules.ts';
import { factsOf } from './sandbox-view.ts';

export const networkRoutes: ControlRoute[] = [
  // What is left out is cleared; how the ports inside are reached stays as it was made.
  route('PUT /sandboxes/{sandboxID}/network', {
    status: 204,
    body: E2bNetworkUpdate,
    run: ({ context, edge, params, body }) => {
      const sandbox = running(edge, params.sandboxID!);
      const { allow_internet_access: allowed, ...egress } = body;
      checkNetwork(egress);
      const facts = factsOf(context, sandbox);
      const { allowPublicTraffic, maskRequestHost, httpsPorts } = facts.network ?? {};
      context.store.sandboxes.put(sandbox.id, {
        ...facts,
        network: { ...keptNetwork(egress), allowPublicTraffic, maskRequestHost, httpsPorts },
        allowInternetAccess: allowed ?? null,
      });
      return undefined;
    },
  }),
];
