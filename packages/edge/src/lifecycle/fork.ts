import type { ForkRequest, SandboxCreate } from '@vivarium/protocol';
import type { Idempotency } from '../edge.ts';
import type { Box } from './box.ts';
import type { Origin } from './create.ts';
import { endBox } from './end.ts';
import { whileFrozen } from './pause.ts';
import { releaseKey } from './release-key.ts';

export type Fork = { request: ForkRequest; idempotency: Idempotency | undefined };

/** The key of one fork of a call: no client can use it, for a client's key has no control characters. */
export function forkKey({ key, requestHash }: Idempotency, index: number): Idempotency {
  return { key: `${key}\n${index}`, requestHash };
}

/**
 * New sandboxes that start with the files of this one as they are now (nothing of its memory). All or none: when one can't be made, the
 * others are ended again.
 */
export async function forkBox(
  box: Box,
  { request: asked, idempotency }: Fork,
  make: (request: SandboxCreate, origin: Origin, idempotency: Idempotency | undefined) => Promise<Box>,
): Promise<Box[]> {
  const { handle } = box;
  const scratchFrom = await whileFrozen(box, () => handle!.snapshotScratch(`fork-${box.context.newId()}`));
  try {
    const request = forkRequest(box, asked);
    const one = (_: unknown, i: number) => make(request, { scratchFrom }, idempotency && forkKey(idempotency, i));
    const made = await Promise.allSettled(Array.from({ length: asked.count }, one));
    const boxes = made.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const failed = made.find((result) => result.status === 'rejected');
    if (!failed) return boxes;
    await Promise.allSettled(boxes.map((each) => endBox(each, 'killed', 'another fork of the same call failed')));
    for (const { row } of boxes) releaseKey(box.context, row.id);
    throw failed.reason;
  } finally {
    await handle!.dropSnapshot(scratchFrom);
  }
}

function forkRequest(box: Box, { labels, metadata, ttlS }: ForkRequest): SandboxCreate {
  const { row } = box;
  return {
    image: row.image,
    kind: row.kind,
    labels: labels ?? row.labels,
    metadata: metadata ?? row.metadata ?? {},
    env: row.env,
    ...(row.cwd ? { cwd: row.cwd } : {}),
    ...(row.user ? { user: row.user } : {}),
    limits: row.limits,
    ttlS: ttlS ?? row.ttlS,
    idleTimeoutS: row.idleTimeoutS,
    onTimeout: row.onTimeout,
    pauseMemory: row.pauseMemory ?? true,
    autoResume: row.autoResume ?? false,
    ...(row.lease ? { lease: row.lease } : {}),
    reach: row.reach,
    overlay: row.overlay ?? [],
    // By their ids: the same volumes, whoever forks.
    volumes: (row.volumes ?? []).map(({ id, path, readOnly }) => ({ name: id, path, readOnly })),
  };
}
