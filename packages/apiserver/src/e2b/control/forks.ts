import { type Sandbox, VivError } from '@vivarium/protocol';
import { E2bFork } from '@vivarium/protocol/e2b/control.ts';
import { e2bStatus } from '../error.ts';
import { type ControlCall, type ControlRoute, route } from './control-call.ts';
import { running } from './live.ts';
import { accessView, factsOf } from './sandbox-view.ts';
import { startAgain } from './start-again.ts';

const FORK_TIMEOUT_S = 300;

export const forkRoutes: ControlRoute[] = [
  route('POST /sandboxes/{sandboxID}/fork', {
    status: 201,
    body: E2bFork,
    run: (call) => fork(call, call.body.count ?? 1, Math.max(1, call.body.timeout ?? FORK_TIMEOUT_S)),
  }),
];

type ForkResult = { sandbox: object } | { error: { code: number; message: string } };

/** All at once; when that many can't be had, as many as can: each has its own result. */
async function fork(call: ControlCall, count: number, ttlS: number): Promise<ForkResult[]> {
  const parent = running(call.edge, call.params.sandboxID!);
  try {
    return await forks(call, parent, count, ttlS);
  } catch (error) {
    if (count === 1 || !FULL.has(VivError.from(error).code)) return Array.from({ length: count }, () => failure(error));
  }
  const results: ForkResult[] = [];
  while (results.length < count) {
    try {
      results.push(...(await forks(call, parent, 1, ttlS)));
    } catch (error) {
      while (results.length < count) results.push(failure(error));
    }
  }
  return results;
}

/** Fewer may fit. */
const FULL = new Set(['quota_exceeded', 'node_full', 'node_disk_full', 'too_many_requests']);

async function forks(call: ControlCall, parent: Sandbox, count: number, ttlS: number): Promise<ForkResult[]> {
  const { context, edge, owner } = call;
  const made = await edge.sandboxes.fork(parent.id, { count, ttlS }, owner);
  const facts = factsOf(context, parent);
  for (const { id } of made) context.store.sandboxes.put(id, facts);
  return Promise.all(made.map((one) => started(call, one, facts.templateID)));
}

/** Its processes are new ones: what the template starts is started in it too. */
async function started(call: ControlCall, sandbox: Sandbox, templateID: string): Promise<ForkResult> {
  try {
    await startAgain(call, templateID, sandbox.id);
    return { sandbox: accessView(call.context, sandbox) };
  } catch (error) {
    await call.edge.sandboxes.kill(sandbox.id);
    return failure(error);
  }
}

function failure(thrown: unknown): ForkResult {
  const error = VivError.from(thrown);
  // Its text is for the log.
  if (error.code === 'internal') throw thrown;
  return { error: { code: e2bStatus(error), message: error.message } };
}
