import { type SandboxCreate, VivError } from '@vivarium/protocol';
import type { Idempotency, Owner } from '../edge.ts';
import { Journal } from '../journal/journal.ts';
import type { SandboxRow } from '../registry/sandbox-row.ts';
import { volumesOf } from '../volumes/mounts.ts';
import { Box, sandboxDir } from './box.ts';
import { cellSpec } from './cell-spec.ts';
import { checkStillCreating, openBoxCell, watchEnd } from './connect.ts';
import type { EdgeContext } from './context.ts';
import { closeBox, stopCell } from './end.ts';
import { acquireLayers } from './layers.ts';
import { releaseKey } from './release-key.ts';
import { armTimeouts } from './timeouts.ts';

/** What no request can ask for: a fork starts from another sandbox's scratch; a step of a build may have the node's network. */
export type Origin = { scratchFrom?: string; builder?: NonNullable<SandboxRow['builder']> };

/** Writes the sandbox down, boots it, and returns it running. On an error nothing of it is left but its row and journal. */
export async function createBox(
  context: EdgeContext,
  request: SandboxCreate,
  owner: Owner,
  idempotency?: Idempotency,
  origin?: Origin,
): Promise<Box> {
  const box = writeDown(context, request, owner, idempotency, origin);
  const began = context.clock.monotonicMs();
  const booting = context.createGate.run(() => boot(box, origin));
  box.creating = booting.then(
    () => {},
    () => {},
  );
  try {
    await booting;
    context.metrics.created(context.clock.monotonicMs() - began);
    return box;
  } catch (error) {
    context.metrics.createFailed.inc({ code: VivError.from(error).code });
    throw error;
  }
}

/** The row, before anything is made. */
function writeDown(
  context: EdgeContext,
  request: SandboxCreate,
  owner: Owner,
  idempotency: Idempotency | undefined,
  origin: Origin | undefined,
): Box {
  const row = newRow(context, request, owner);
  if (origin?.builder) row.builder = origin.builder;
  const { registry, clock, files } = context;
  registry.transaction(() => {
    registry.sandboxes.insert(row);
    if (idempotency)
      registry.idempotency.put(
        owner.keyId,
        idempotency.key,
        { requestHash: idempotency.requestHash, sandbox: row.id },
        clock.now(),
      );
  });
  try {
    const box = new Box(context, row, Journal.create(sandboxDir(context.stateDir, row.id), clock, files));
    box.journal.append({ type: 'sandbox', data: requestRecord(request) });
    context.boxes.set(row.id, box);
    return box;
  } catch (error) {
    registry.transaction(() => {
      registry.idempotency.forget(row.id);
      registry.sandboxes.delete(row.id);
    });
    throw error;
  }
}

async function boot(box: Box, origin: Origin | undefined): Promise<void> {
  const { context, row } = box;
  try {
    checkStillCreating(box);
    const driver = context.drivers.get(row.kind)!;
    const layers = await acquireLayers(box);
    checkStillCreating(box);
    const { scratchFrom } = origin ?? {};
    const spec = { ...cellSpec(context, row, layers), ...(scratchFrom !== undefined && { scratchFrom }) };
    await driver.prepare(spec);
    checkStillCreating(box);
    box.handle = await driver.start(spec);
    row.record = box.handle.record;
    checkStillCreating(box);
    await openBoxCell(box);
    checkStillCreating(box);
    const now = context.clock.now();
    box.step('running', { startedAt: now, expiresAt: now + row.ttlS * 1000 });
    box.creating = null;
    watchEnd(box);
    armTimeouts(box);
  } catch (thrown) {
    throw await undo(box, VivError.from(thrown));
  }
}

/** Takes back whatever was made and says what the create is answered with. */
async function undo(box: Box, error: VivError): Promise<VivError> {
  const { context, row } = box;
  stopCell(box);
  await box.handle
    ?.destroy()
    .catch((err) => context.log.error({ err, sandbox: box.id }, 'undoing a create failed; the next start sweeps it'));
  releaseKey(context, box.id);
  if (row.state === 'ending') closeBox(box, 'ended');
  else {
    Object.assign(row, { endReason: 'create_failed', error: error.message, errorCode: error.code });
    closeBox(box, 'failed');
  }
  if (error.code === 'internal') context.log.error({ err: error, sandbox: box.id }, 'a create failed');
  return error;
}

function newRow(context: EdgeContext, request: SandboxCreate, owner: Owner): SandboxRow {
  const { config } = context.images.get(request.image);
  for (const name of request.overlay) context.images.get(name);
  return {
    id: context.newId(),
    keyId: owner.keyId,
    state: 'creating',
    name: request.name ?? null,
    kind: request.kind,
    image: request.image,
    labels: request.labels,
    metadata: request.metadata,
    limits: request.limits,
    env: { ...config.env, ...request.env },
    cwd: request.cwd ?? config.cwd ?? null,
    user: request.user ?? config.user ?? null,
    ttlS: request.ttlS,
    idleTimeoutS: request.idleTimeoutS,
    onTimeout: request.onTimeout,
    pauseMemory: request.pauseMemory,
    autoResume: request.autoResume,
    lease: request.lease ?? null,
    reach: request.reach,
    token: Buffer.from(context.random.bytes(24)).toString('base64url'),
    createdAt: context.clock.now(),
    startedAt: null,
    endedAt: null,
    expiresAt: null,
    endReason: null,
    error: null,
    errorCode: null,
    record: null,
    layers: [],
    overlay: request.overlay,
    volumes: volumesOf(context, request, owner.keyId),
  };
}

/** The request as the journal shows it: no values of variables, no headers. */
function requestRecord(request: SandboxCreate): Record<string, unknown> {
  const { env, reach, ...rest } = request;
  return {
    ...rest,
    envNames: Object.keys(env),
    reach: reach.map(({ headers, ...endpoint }) => ({ ...endpoint, headerNames: Object.keys(headers ?? {}) })),
  };
}
