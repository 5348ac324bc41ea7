import type { Sandbox as SandboxInfo } from '@vivarium/protocol/sandbox.ts';
import type { Context } from './context.ts';
import { defined } from './exec-options.ts';
import { Subscription } from './subscription.ts';

export type EventFilter = { sandbox?: string; label?: string; signal?: AbortSignal };

/** Lifecycle changes as they happen: of one sandbox, of those with a label (`name=value`), or of all. */
export function events(context: Context, filter: EventFilter = {}): Subscription<SandboxInfo> {
  return new Subscription<SandboxInfo>(context, {
    open: { op: 'events', ...defined({ sandbox: filter.sandbox, label: filter.label }) },
    pick: (event) => (event.type === 'sandbox' ? (event.sandbox as SandboxInfo) : undefined),
    signal: filter.signal,
  });
}
