import { type BuildLimits, type Image, Limits, SandboxCreate } from '@vivarium/protocol';
import type { Owner } from '../edge.ts';
import type { Box } from '../lifecycle/box.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { createBox } from '../lifecycle/create.ts';
import { endBox } from '../lifecycle/end.ts';
import { whileFrozen } from '../lifecycle/pause.ts';

/** Names and values of labels are short; this is what one has that says whose step a sandbox is. */
const LABEL = 'viv.build';
/** A sandbox outlives the build's time only when ending it fails. */
const TTL_SLACK_S = 60;

export type BoxRequest = {
  image: string;
  build: string;
  network: 'none' | 'node';
  limits: BuildLimits;
  timeoutMs: number;
  owner: Owner;
};

/**
 * A sandbox for one step of a build, ended after the work, however that went. No request of a client makes one: it may have the node's
 * network. When the signal aborts it is ended at once.
 */
export async function withBuilderBox<T>(
  context: EdgeContext,
  request: BoxRequest,
  signal: AbortSignal,
  work: (box: Box) => Promise<T>,
): Promise<T> {
  const { image, build, network, limits, timeoutMs, owner } = request;
  signal.throwIfAborted();
  const create = SandboxCreate.parse({
    image,
    labels: { [LABEL]: build },
    user: 'root',
    limits: Limits.parse(limits),
    ttlS: Math.ceil(timeoutMs / 1000) + TTL_SLACK_S,
  });
  const box = await createBox(context, create, owner, undefined, { builder: { network } });
  const end = () => endBox(box, 'killed');
  const abort = () => void end().catch(() => {});
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    return await work(box);
  } finally {
    signal.removeEventListener('abort', abort);
    await end().catch((err) =>
      context.log.error({ err, sandbox: box.id }, 'the sandbox of a build’s step could not be ended'),
    );
  }
}

export type Commit = {
  name: string;
  createdBy: string;
  exclude: string[];
  config: Image['config'];
  signal: AbortSignal;
};

/** What the step changed, as a layer over its image: everything, with its times, but for what is excluded. */
export function commitBox(box: Box, { name, createdBy, exclude, config, signal }: Commit): Promise<Image> {
  const { row, context } = box;
  return whileFrozen(box, async () => {
    // Nobody waits for the sandbox: it stays frozen for as long as it is read.
    const { upperDir, idShift } = await box.handle!.exportChanges({ live: true });
    const { image } = await context.images.commit({
      name,
      parent: row.image,
      upperDir,
      idShift,
      config,
      createdBy,
      pack: { scrub: 'none', keep: [], exclude, times: 'kept' },
      lineage: { kind: 'build', sandbox: row.id, key: row.keyId },
      signal,
    });
    return image;
  });
}
