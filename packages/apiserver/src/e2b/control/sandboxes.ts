import { E2bCreate } from '@vivarium/protocol/e2b/control.ts';
import { type ControlRoute, route } from './control-call.ts';
import { live } from './live.ts';
import { createSandbox } from './sandbox-create.ts';
import { infoView } from './sandbox-view.ts';

/** Making, showing and ending sandboxes. */
export const sandboxRoutes: ControlRoute[] = [
  route('POST /sandboxes', { status: 201, body: E2bCreate, run: (call) => createSandbox(call, 1) }),
  route('POST /v2/sandboxes', { status: 201, body: E2bCreate, run: (call) => createSandbox(call, 2) }),
  route('GET /sandboxes/{sandboxID}', {
    status: 200,
    run: ({ context, edge, params }) => infoView(context, live(edge, params.sandboxID!)),
  }),
  route('DELETE /sandboxes/{sandboxID}', {
    status: 204,
    run: async ({ edge, params }) => {
      const { id } = live(edge, params.sandboxID!);
      await edge.sandboxes.kill(id);
      return undefined;
    },
  }),
];
