import type { Box } from './box.ts';
import type { EdgeContext } from './context.ts';
import { requireBox } from './find.ts';
import { resumeBox } from './pause.ts';
import { armTimeouts } from './timeouts.ts';

/** A live sandbox for a call into it, woken if it is paused and may be. Throws `sandbox_not_found`, `sandbox_dead` or what `wakeBox` does. */
export async function requireAwake(context: EdgeContext, id: string): Promise<Box> {
  const box = requireBox(context, id);
  if (box.row.state !== 'running') await wakeBox(box);
  return box;
}

/** Resumes it, once for all who ask meanwhile. */
export function resumeOnce(box: Box): Promise<void> {
  box.waking ??= resume(box);
  return box.waking;
}

/** One that is paused again as soon as it runs is resumed no more often for one call. */
const TRIES_MAX = 3;

/**
 * Resolves when the sandbox runs: at once, or after it has been resumed, once for all that wait. Throws what is in the way, as
 * `requireCell` does: `sandbox_paused` when it is paused and has no `autoResume`, `sandbox_dead`, `state_conflict`.
 */
export async function wakeBox(box: Box): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX && isWaking(box); tries++) await resumeOnce(box);
  box.requireCell();
}

function isWaking({ row: { state, autoResume } }: Box): boolean {
  return state === 'resuming' || (autoResume === true && (state === 'pausing' || state === 'paused'));
}

async function resume(box: Box): Promise<void> {
  try {
    await resumeBox(box);
    armTimeouts(box);
  } finally {
    box.waking = null;
  }
}
