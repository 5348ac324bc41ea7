import { SandboxCreate, VivError } from '@vivarium/protocol';
import { E2bCreate } from '@vivarium/protocol/e2b/control.ts';
import { check } from '../../http/issues.ts';
import { type ControlCall, type ControlRoute, route } from './control-call.ts';
import { accessView, infoView } from './sandbox-view.ts';
import { findTemplate } from './template-source.ts';

const DEFAULT_TIMEOUT_S = { v1: 15, v2: 300 };

/** Making, showing and ending sandboxes. */
export const sandboxRoutes: ControlRoute[] = [
  route('POST /sandboxes', { status: 201, body: E2bCreate, run: (call) => create(call, 'v1') }),
  route('POST /v2/sandboxes', { status: 201, body: E2bCreate, run: (call) => create(call, 'v2') }),
  route('GET /sandboxes/{sandboxID}', {
    status: 200,
    run: ({ context, edge, params }) => infoView(context, live(edge, params.sandboxID!)),
  }),
  route('DELETE /sandboxes/{sandboxID}', {
    status: 204,
    run: async ({ edge, params }) => {
      live(edge, params.sandboxID!);
      await edge.sandboxes.kill(params.sandboxID!);
      return undefined;
    },
  }),
];

async function create(call: ControlCall<E2bCreate>, version: 'v1' | 'v2'): Promise<object> {
  const { context, edge, body, owner, signal } = call;
  const template = findTemplate(context, body.templateID);
  const request = check(SandboxCreate, {
    image: template.image,
    ttlS: Math.max(1, body.timeout ?? DEFAULT_TIMEOUT_S[version]),
    env: body.envVars ?? {},
    metadata: body.metadata ?? {},
    onTimeout: body.autoPause ? 'pause' : 'kill',
    pauseMemory: body.autoPauseMemory ?? true,
    autoResume: body.autoResume?.enabled ?? false,
  });
  const sandbox = await edge.sandboxes.create(request, owner);
  context.store.sandboxes.put(sandbox.id, {
    templateID: template.templateID,
    alias: template.alias,
    secure: version === 'v2' || body.secure === true,
    network: body.network ?? null,
    allowInternetAccess: body.allow_internet_access ?? null,
    volumeMounts: body.volumeMounts ?? [],
    user: 'user',
  });
  // Nobody knows it: a client that left can't come back for it.
  if (signal.aborted) await edge.sandboxes.kill(sandbox.id);
  return accessView(context, sandbox);
}

/** One that has not ended. To E2B's clients a sandbox that ended was never there. */
function live(edge: ControlCall['edge'], id: string) {
  const sandbox = edge.sandboxes.get(id);
  if (sandbox.state === 'ended' || sandbox.state === 'failed' || sandbox.state === 'ending')
    throw new VivError('sandbox_not_found', `sandbox ${id} has ended`, { details: { id } });
  return sandbox;
}
