import type { Edge } from '@vivarium/edge/edge.ts';
import { type Sandbox, VivError } from '@vivarium/protocol';
import { E2bConnect, E2bPause, E2bRefresh, E2bResume, E2bTimeout } from '@vivarium/protocol/e2b/control.ts';
import type { z } from 'zod';
import { type Answer, withStatus } from '../../http/answer.ts';
import { type ControlCall, type ControlRoute, route } from './control-call.ts';
import { live, running } from './live.ts';
import { accessView, factsOf } from './sandbox-view.ts';
import { startAgain } from './start-again.ts';

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
    run: async (call) => {
      const { id, state } = live(call.edge, call.params.sandboxID!);
      if (state === 'running') throw new VivError('state_conflict', `sandbox ${id} is running already`);
      const { autoPause, timeout } = call.body;
      const onTimeout = autoPause === undefined || autoPause === null ? undefined : autoPause ? 'pause' : 'kill';
      const resumed = await resume(call, id, Math.max(1, timeout ?? OLD_TIMEOUT_S), onTimeout);
      return accessView(call.context, resumed);
    },
  }),
];

type ConnectCall = ControlCall<z.output<typeof E2bConnect>>;

/** Resumes what is paused, and only ever extends the time of what runs. */
async function connect(call: ConnectCall) {
  const { context, edge, params, body } = call;
  const timeoutS = body.timeout ?? CONNECT_TIMEOUT_S;
  const sandbox = await settled(edge, live(edge, params.sandboxID!));
  if (sandbox.state === 'running') return accessView(context, extend(edge, sandbox, timeoutS));
  return resumed(call, sandbox, timeoutS);
}

async function resumed(call: ConnectCall, sandbox: Sandbox, timeoutS: number): Promise<Answer> {
  const { context, edge, body } = call;
  if (body.memory === false && !sandbox.cold) await edge.sandboxes.pause(sandbox.id, { memory: false });
  const resumed = await resume(call, sandbox.id, Math.max(1, timeoutS));
  return withStatus(201, accessView(context, resumed));
}

/** One that was paused without memory has no processes: what its template starts is started again. */
async function resume(call: ControlCall, id: string, ttlS: number, onTimeout?: 'pause' | 'kill'): Promise<Sandbox> {
  const { context, edge } = call;
  const { cold } = edge.sandboxes.get(id);
  await edge.sandboxes.resume(id);
  const sandbox = edge.sandboxes.update(id, { ttlS, ...(onTimeout && { onTimeout }) });
  if (!cold) return sandbox;
  try {
    await startAgain(call, factsOf(context, sandbox).templateID, id);
  } catch (err) {
    // The client gets to its files all the same.
    context.log.warn({ err, sandbox: id }, 'what the template starts did not start after a resume');
  }
  return sandbox;
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
