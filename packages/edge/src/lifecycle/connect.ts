import { isFinal } from '@vivarium/core';
import { type EndReason, VivError } from '@vivarium/protocol';
import { resumeExecs } from '../exec/resume-execs.ts';
import type { Box } from './box.ts';
import { endBox } from './end.ts';

/** How long the driver may take to confirm that a lost guest has really ended. */
const CONFIRM_MS = 2000;

/** Opens the guest's end of a booted cell and takes over the commands it still holds: one that booted anew has none. */
export async function openBoxCell(box: Box): Promise<void> {
  await connectBoxCell(box);
  if (!box.row.cold) await resumeExecs(box);
  await box.context.onRunning(box);
}

/** Opens it and no more. */
export async function connectBoxCell(box: Box): Promise<void> {
  const handle = box.handle!;
  box.cell = await box.context.openCell({
    connect: () => handle.connect(),
    config: { ...handle.guestConfig(), env: box.row.env },
    onLost: (error) => void lost(box, error),
  });
}

/** Ends the sandbox when its PID 1 does; not when another cell has taken its place. */
export function watchEnd(box: Box): void {
  const { handle } = box;
  void handle!.ended.then(async ({ reason }) => {
    if (handle === box.handle) await died(box, 'exited', reason);
  });
}

/** The guest can't be reached any more: either PID 1 is gone (exited) or the node lost it. */
async function lost(box: Box, error: VivError): Promise<void> {
  const { handle } = box;
  const ended = await Promise.race([
    handle!.ended.then(({ reason }) => reason),
    new Promise<null>((resolve) => box.context.clock.after(CONFIRM_MS, () => resolve(null))),
  ]);
  if (handle !== box.handle) return;
  await died(box, ended === null ? 'lost' : 'exited', ended ?? error.message);
}

/** Not one that is to have no processes: it is about to be stopped, is, or its next cell does not count as running yet. */
async function died(box: Box, reason: EndReason, message: string): Promise<void> {
  const { state, cold } = box.row;
  if (box.context.closed || box.ending || state === 'creating' || isFinal(state) || cold) return;
  box.context.log.info({ sandbox: box.id, reason, message }, 'a sandbox ended by itself');
  try {
    await endBox(box, reason, message);
  } catch (err) {
    box.context.log.error({ err, sandbox: box.id }, 'ending a dead sandbox failed');
  }
}

/** The guest's end while creating: a sandbox that was killed meanwhile must not come alive. */
export function checkStillCreating(box: Box): void {
  if (box.row.state !== 'creating')
    throw new VivError('sandbox_dead', `sandbox ${box.id} was ended while it was being created`, {
      details: { id: box.id },
    });
}
