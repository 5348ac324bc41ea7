import { type SandboxState, VivError } from '@vivarium/protocol';

/**
 * The lifecycle of a sandbox as a table: from each state, the states that may follow. `ended` and `failed` are final.
 * Everything that lives can be ended at any moment, also while it is being created or frozen. One that is paused is paused once more when
 * it is to give up its memory too.
 */
export const TRANSITIONS: Readonly<Record<SandboxState, readonly SandboxState[]>> = {
  creating: ['running', 'ending', 'failed'],
  running: ['pausing', 'ending'],
  pausing: ['paused', 'running', 'ending'],
  paused: ['pausing', 'resuming', 'ending'],
  resuming: ['running', 'paused', 'ending'],
  ending: ['ended'],
  ended: [],
  failed: [],
};

/** Is the step allowed? */
export function canStep(from: SandboxState, to: SandboxState): boolean {
  return TRANSITIONS[from].includes(to);
}

/** Throws `state_conflict` (a final state: `sandbox_dead`) when the step is not allowed. */
export function checkStep(id: string, from: SandboxState, to: SandboxState): void {
  if (canStep(from, to)) return;
  if (isFinal(from)) throw new VivError('sandbox_dead', `sandbox ${id} is ${from}`, { details: { id, state: from } });
  throw new VivError('state_conflict', `sandbox ${id} is ${from} and cannot become ${to} now`, {
    details: { id, state: from },
  });
}

/** Nothing follows. */
export function isFinal(state: SandboxState): boolean {
  return TRANSITIONS[state].length === 0;
}

/** States in which the node still holds resources for the sandbox. */
export function isLive(state: SandboxState): boolean {
  return !isFinal(state);
}
