import type { z } from '@hono/zod-openapi';
import type { Annotation, Outcome } from '@vivarium/protocol';
import type { Counters } from '../drivers/driver.ts';

type Annotations = z.infer<typeof Annotation>[];

/** By how much the sandbox's counters rose while a command ran. Other commands that ran meanwhile count too. */
export type Signs = Counters & { diskFull: boolean };

/** A command that waited for its CPU quota for less than this in all, or than this part of its time, is not told so. */
const THROTTLED_MS = 100;
const THROTTLED_PART = 0.1;

/** The rise from one look to the next. */
export function riseOf(before: Counters, now: Counters): Counters {
  return {
    oomKills: now.oomKills - before.oomKills,
    pidsDenied: now.pidsDenied - before.pidsDenied,
    throttledUs: now.throttledUs - before.throttledUs,
  };
}

/** Quotas that were hit while a command ran: hints beside its outcome, never the outcome itself. */
export function annotate(
  outcome: Outcome | null,
  signs: Signs | null,
  truncated: boolean,
  durationMs: number,
): Annotations {
  const notes: Annotations = [];
  if (signs?.diskFull) notes.push('disk_limit');
  if (signs && signs.pidsDenied > 0) notes.push('pids_limit');
  if (signs && signs.oomKills > 0 && outcome?.type !== 'oom') notes.push('memory_limit');
  if (truncated) notes.push('output_truncated');
  if (signs && signs.throttledUs / 1000 >= Math.max(THROTTLED_MS, durationMs * THROTTLED_PART)) notes.push('throttled');
  return notes;
}
