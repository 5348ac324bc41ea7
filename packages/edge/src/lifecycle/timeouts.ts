import type { EndReason } from '@vivarium/protocol';
import type { Box } from './box.ts';
import { endBox } from './end.ts';
import { pauseBox } from './pause.ts';

/** A time-out that could not be carried out (the disk is full) is tried again after this. */
const AGAIN_MS = 10_000;
/** And one that is held back, after this. */
const HELD_MS = 250;

/** (Re-)arms TTL and idle time-out from the row. Called when it starts to run, resumes, or its times are changed. */
export function armTimeouts(box: Box): void {
  const { deadlines } = box.context;
  box.disarm();
  const { expiresAt, idleTimeoutS, state } = box.row;
  if (expiresAt !== null) box.ttl = deadlines.add(expiresAt, () => void timedOut(box, 'ttl'));
  if (idleTimeoutS !== null && state === 'running') {
    box.touch();
    box.idle = deadlines.add(box.context.clock.now() + idleTimeoutS * 1000, () => checkIdle(box));
  }
}

/** Running commands and open streams are traffic; so the deadline is looked at again rather than moved at every byte. */
function checkIdle(box: Box): void {
  const { idleTimeoutS, state } = box.row;
  if (idleTimeoutS === null || state !== 'running') return;
  if (box.execs.size > 0 || box.open > 0 || box.timeoutsHeld > 0) box.touch();
  const { clock, deadlines } = box.context;
  const leftMs = box.lastTrafficMs + idleTimeoutS * 1000 - clock.monotonicMs();
  if (leftMs <= 0) void timedOut(box, 'idle');
  else box.idle = deadlines.add(clock.now() + leftMs, () => checkIdle(box));
}

/** For the time of some work with a sandbox neither its TTL nor its idle time-out ends or pauses it. */
export async function holdingTimeouts<T>(box: Box, work: () => Promise<T>): Promise<T> {
  box.timeoutsHeld++;
  try {
    return await work();
  } finally {
    box.timeoutsHeld--;
    box.touch();
  }
}

async function timedOut(box: Box, reason: EndReason): Promise<void> {
  const { clock, deadlines } = box.context;
  if (box.timeoutsHeld > 0) {
    box.ttl = deadlines.add(clock.now() + HELD_MS, () => void timedOut(box, reason));
    return;
  }
  try {
    if (box.row.onTimeout === 'kill') await endBox(box, reason);
    else await holdBox(box, reason);
  } catch (err) {
    // Ending is tried again by itself; a call may have begun it meanwhile.
    if (box.ending) return;
    box.context.log.error({ err, sandbox: box.id, reason }, 'the time-out could not be carried out yet');
    // Holding needs the disk.
    box.ttl = deadlines.add(clock.now() + AGAIN_MS, () => void timedOut(box, reason));
  }
}

/** Pauses a sandbox, as it asks for, and stops its clock: nothing ends it but a call. */
export async function holdBox(box: Box, reason: EndReason): Promise<void> {
  box.note('state', { held: reason });
  box.change({ expiresAt: null });
  const { state, pauseMemory = true } = box.row;
  if (state === 'creating' || state === 'ending') return;
  await pauseBox(box, { memory: pauseMemory });
  armTimeouts(box);
}
