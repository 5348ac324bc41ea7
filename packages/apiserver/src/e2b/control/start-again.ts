import type { ControlCall } from './control-call.ts';
import { findTemplate, type TemplateSource } from './template-source.ts';

/**
 * What a template starts in its sandboxes, for one that has the files of such a sandbox and none of its processes: a fork, or one that was
 * paused without memory. A template that is gone meanwhile starts nothing. Throws what the start throws.
 */
export async function startAgain(call: ControlCall, templateID: string, sandbox: string): Promise<void> {
  await sourceOf(call, templateID)?.start?.(call.edge, sandbox, call.signal);
}

function sourceOf({ context, key }: ControlCall, templateID: string): TemplateSource | undefined {
  try {
    return findTemplate(context, templateID, key);
  } catch {
    return undefined;
  }
}
