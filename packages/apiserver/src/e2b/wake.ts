import { type Sandbox, VivError } from '@vivarium/protocol';
import type { E2bContext } from './context.ts';

const GONE = new Set(['sandbox_not_found', 'sandbox_dead', 'sandbox_paused', 'sandbox_lost', 'state_conflict']);
const OVER = new Set<Sandbox['state']>(['ending', 'ended', 'failed']);

/** One that runs or would be woken. Undefined: to its clients it is not there. */
export function reachable({ edge }: E2bContext, id: string): Sandbox | undefined {
  try {
    const sandbox = edge.sandboxes.get(id);
    const asleep = sandbox.state === 'paused' || sandbox.state === 'pausing';
    return OVER.has(sandbox.state) || (asleep && !sandbox.autoResume) ? undefined : sandbox;
  } catch (error) {
    if (error instanceof VivError && GONE.has(error.code)) return undefined;
    throw error;
  }
}

/** The sandbox, running; one that is paused is resumed if it is made so. Undefined: to its clients it is not there. */
export async function awake({ edge }: E2bContext, id: string): Promise<Sandbox | undefined> {
  try {
    const sandbox = edge.sandboxes.get(id);
    if (sandbox.state === 'running') return sandbox;
    return await edge.sandboxes.wake(id);
  } catch (error) {
    if (error instanceof VivError && GONE.has(error.code)) return undefined;
    throw error;
  }
}
