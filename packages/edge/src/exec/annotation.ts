import type { z } from '@hono/zod-openapi';
import type { Annotation, Outcome } from '@vivarium/protocol';

type Annotations = z.infer<typeof Annotation>[];

/** What the sandbox's counters say at the end of a command, against the last time somebody looked. */
export type Signs = {
  oomKills: number;
  oomKillsSince: number;
  pidsDeniedSince: number;
  diskFull: boolean;
};

/** Quotas that were hit while a command ran: hints beside its outcome, never the outcome itself. */
export function annotate(outcome: Outcome | null, signs: Signs | null, truncated: boolean): Annotations {
  const notes: Annotations = [];
  if (signs?.diskFull) notes.push('disk_limit');
  if (signs && signs.pidsDeniedSince > 0) notes.push('pids_limit');
  if (signs && signs.oomKillsSince > 0 && outcome?.type !== 'oom') notes.push('memory_limit');
  if (truncated) notes.push('output_truncated');
  return notes;
}
