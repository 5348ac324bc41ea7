import type { Edge } from '@vivarium/edge/edge.ts';
import { type Sandbox, VivError } from '@vivarium/protocol';
import { E2bConnect, E2bPause, E2bRefresh, E2bResume, E2bTimeout } from '@vivarium/protocol/e2b/control.ts';
import { type Answer, withStatus } from '../../http/answer.ts';
import { type ControlCall, type ControlRoute, route } from './control-call.ts';
import { live, running } from './live.ts';
import { accessView } from './sandbox-view.ts';

const CONNECT_TIMEOUT_S = 300;
/** What a resume and a refresh of old clients give at least. */
const OLD_TIMEOUT_S = 15;
/** A transition that is under way when a client connects is waited for so long. */
const TRANSITION_MS = 20_000;

/** Time-outs, pausing and resuming. */
export const lifecycleRoutes: ControlRoute[] = [
  route('POST /sandboxes/{sandboxID}/connect', { status: 200, body: E2bConnect, run: connect }),
  route('POST /v2/sandboxes/{sandboxID}/connect', { status: 200, body: E2bConnect, run: connect }),
  route('POST /sandboxes/{sandboxID}/timeout', {
    status: 204,
    body: E2bTimeout,
    run: ({ edge, params, body }) => {
      const sandbox = running(edge, params.sandboxID!);
      if (body.extendOnly) extend(edge, sandbox, body.timeout);
      else edge.sandboxes.update(sandbox.id, { ttlS: Math.max(1, body.timeout) });
      return undefined;
    },
  }),
  route('POST /sandboxes/{sandboxID}/refreshes', {
    status: 204,
    body: E2bRefresh,
    run: ({ edge, params, body }) => {
      extend(edge, running(edge, params.sandboxID!), Math.max(OLD_TIMEOUT_S, body.duration ?? 0));
      return undefined;
    },
  }),
  route('POST /sandboxes/{sandboxID}/pause', {
    status: 204,
    body: E2bPause,
    run: async ({ edge, params, body }) => {
      const { id, state } = live(edge, params.sandboxID!);
      if (state === 'paused' || state === 'pausing')
        throw new VivError('state_conflict', `sandbox ${id} is already paused`, { details: { id } });
      await edge.sandboxes.pause(id, { memory: body.memory ?? true });
      return undefined;
    },
  }),
  route('POST /sandboxes/{sandboxID}/resume', {
    status: 201,
    body: E2bResume,
    run: async ({ context, edge, params, body }) => {
      const { id, state } = live(edge, params.sandboxID!);
      if (state === 'running') throw new VivError('state_conflict', `sandbox ${id} is running already`);
      await edge.sandboxes.resume(id);
      const { autoPause } = body;
      const ttlS = Math.max(1, body.timeout ?? OLD_TIMEOUT_S);
      const onTimeout = autoPause === undefined || autoPause === null ? undefined : autoPause ? 'pause' : 'kill';
      return accessView(context, edge.sandboxes.update(id, { ttlS, ...(onTimeout && { onTimeout }) }));
    },
  }),
];

/** Resumes what is paused, and only ever extends the time of what runs. */
async function connect(
  call: ControlCall<{ timeout?: number | null | undefined; memory?: boolean | null | undefined }>,
) {
  const { context, edge, params, body } = call;
  const timeoutS = body.timeout ?? CONNECT_TIMEOUT_S;
  const sandbox = await settled(edge, live(edge, params.sandboxID!));
  if (sandbox.state === 'running') return accessView(context, extend(edge, sandbox, timeoutS));
  return resumed(call, sandbox, timeoutS);
}

async function resumed(
  { context, edge, body }: ControlCall<{ memory?: boolean | null | undefined }>,
  sandbox: Sandbox,
  timeoutS: number,
): Promise<Answer> {
  if (body.memory === false && !sandbox.cold) await edge.sandboxes.pause(sandbox.id, { memory: false });
  await edge.sandboxes.resume(sandbox.id);
  return withStatus(201, accessView(context, edge.sandboxes.update(sandbox.id, { ttlS: Math.max(1, timeoutS) })));
}

/** After a transition that is under way. Throws `sandbox_not_found` when it ended by it. */
async function settled(edge: Edge, sandbox: Sandbox): Promise<Sandbox> {
  if (sandbox.state === 'running' || sandbox.state === 'paused') return sandbox;
  await edge.sandboxes.wait(sandbox.id, ['running', 'paused'], TRANSITION_MS);
  return live(edge, sandbox.id);
}

function extend(edge: Edge, sandbox: Sandbox, timeoutS: number): Sandbox {
  const endMs = sandbox.expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(sandbox.expiresAt);
  if (Date.now() + timeoutS * 1000 <= endMs) return sandbox;
  return edge.sandboxes.update(sandbox.id, { ttlS: Math.max(1, timeoutS) });
}
