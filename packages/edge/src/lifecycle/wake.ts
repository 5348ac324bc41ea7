import type { Box } from './box.ts';
import { resumeBox } from './pause.ts';
import { armTimeouts } from './timeouts.ts';

/** Resumes it, once for all who ask meanwhile. */
export function resumeOnce(box: Box): Promise<void> {
  box.waking ??= resume(box);
  return box.waking;
}

/**
 * Resolves when the sandbox runs: at once, or after it has been resumed, once for all that wait. Throws what is in the way, as
 * `requireCell` does: `sandbox_paused` when it is paused and has no `autoResume`, `sandbox_dead`, `state_conflict`.
 */
export async function wakeBox(box: Box): Promise<void> {
  const { state, autoResume } = box.row;
  const asleep = state === 'pausing' || state === 'paused';
  if ((asleep && autoResume) || state === 'resuming') await resumeOnce(box);
  box.requireCell();
}

async function resume(box: Box): Promise<void> {
  try {
    await resumeBox(box);
    armTimeouts(box);
  } finally {
    box.waking = null;
  }
}
