import { type EndReason, VivError } from '@vivarium/protocol';
import { resumeExecs } from '../exec/resume-execs.ts';
import type { Box } from './box.ts';
import { endBox } from './end.ts';

/** How long the driver may take to confirm that a lost guest has really ended. */
const CONFIRM_MS = 2000;

/** Opens the guest's end of a booted cell and takes over the commands it still holds. */
export async function openBoxCell(box: Box): Promise<void> {
  const handle = box.handle!;
  box.cell = await box.context.openCell({
    connect: () => handle.connect(),
    config: { ...handle.guestConfig(), env: box.row.env },
    onLost: (error) => void lost(box, error),
  });
  await resumeExecs(box);
  await box.context.onRunning(box);
}

/** Ends the sandbox when its PID 1 does. */
export function watchEnd(box: Box): void {
  void box.handle!.ended.then(({ reason }) => died(box, 'exited', reason));
}

/** The guest can't be reached any more: either PID 1 is gone (exited) or the node lost it. */
async function lost(box: Box, error: VivError): Promise<void> {
  const ended = await Promise.race([
    box.handle!.ended.then(({ reason }) => reason),
    new Promise<null>((resolve) => box.context.clock.after(CONFIRM_MS, () => resolve(null))),
  ]);
  await died(box, ended === null ? 'lost' : 'exited', ended ?? error.message);
}

async function died(box: Box, reason: EndReason, message: string): Promise<void> {
  if (box.context.closed || box.ending || box.row.state === 'creating') return;
  box.context.log.info({ sandbox: box.id, reason, message }, 'a sandbox ended by itself');
  await endBox(box, reason, message).catch((err) =>
    box.context.log.error({ err, sandbox: box.id }, 'ending a dead sandbox failed'),
  );
}

/** The guest's end while creating: a sandbox that was killed meanwhile must not come alive. */
export function checkStillCreating(box: Box): void {
  if (box.row.state !== 'creating')
    throw new VivError('sandbox_dead', `sandbox ${box.id} was ended while it was being created`, {
      details: { id: box.id },
    });
}
