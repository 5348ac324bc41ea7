import { type EndReason, VivError } from '@vivarium/protocol';
import type { Box } from './box.ts';
import { pruneEnded } from './retention.ts';

const DESTROY_ATTEMPTS = 3;
const RETRY_MS = 10_000;

/** Ends a sandbox and gives back all it holds. Ending one that is ending waits for that. Resolves when it has ended. */
export function endBox(box: Box, reason: EndReason, message?: string): Promise<void> {
  if (box.ending) return box.ending;
  const creating = box.creating;
  box.step('ending', { endReason: reason, ...(message ? { error: message } : {}) });
  box.disarm();
  box.ending = creating ? creating : box.exclusive(() => finishEnding(box));
  return box.ending;
}

/** The rest of ending, also for one that a former process of ours had begun. */
export async function finishEnding(box: Box): Promise<void> {
  abandonExecs(box);
  stopCell(box);
  await destroyCell(box);
  closeBox(box, 'ended');
}

/** Marks it final and forgets it; its row, journal and kept outputs stay readable. */
export function closeBox(box: Box, state: 'ended' | 'failed'): void {
  const { context } = box;
  box.releaseLayers?.();
  box.releaseLayers = null;
  context.boxes.delete(box.id);
  box.step(state, { endedAt: context.clock.now() });
  box.journal.close();
  context.metrics.ended.inc({ reason: box.row.endReason ?? 'killed' });
  pruneEnded(context);
}

/** Drops our end of the stream and whatever used it; what is under way fails with the error. */
export function stopCell(box: Box, error?: VivError): void {
  for (const stop of box.onEnd.splice(0)) stop();
  box.cell?.close(error);
  box.cell = null;
}

/** A few attempts; a cell that can't be destroyed now stays `ending` and is tried again later and at the next start. */
async function destroyCell(box: Box): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await box.handle?.destroy();
    } catch (error) {
      box.context.log.error({ err: error, sandbox: box.id, attempt }, 'destroying a cell failed');
      if (attempt < DESTROY_ATTEMPTS) continue;
      retryLater(box);
      throw new VivError('internal', `sandbox ${box.id} could not be taken down yet; the node keeps trying`, {
        cause: error,
      });
    }
  }
}

function retryLater(box: Box): void {
  box.context.deadlines.add(box.context.clock.now() + RETRY_MS, () => {
    box.ending = box.exclusive(() => finishEnding(box));
    box.ending.catch(() => {});
  });
}

function abandonExecs(box: Box): void {
  const { endReason } = box.row;
  const lost = endReason === 'exited' || endReason === 'lost';
  for (const exec of [...box.execs.values()]) {
    if (lost) exec.abandon('sandbox_lost', `its sandbox ended (${endReason})`);
    else exec.abandon('canceled', `its sandbox was ended (${endReason})`);
  }
}
