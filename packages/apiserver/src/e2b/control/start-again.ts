import type { ControlCall } from './control-call.ts';
import { findKept } from './template-source.ts';

/**
 * What a template starts in its sandboxes, for one that has the files of such a sandbox and none of its processes: a fork, or one that was
 * paused without memory. A template that is gone meanwhile starts nothing. Throws what the start throws.
 */
export async function startAgain(call: ControlCall, templateID: string, sandbox: string): Promise<void> {
  await findKept(call.context, templateID, call.key)?.start?.(call.edge, sandbox, call.signal);
}
