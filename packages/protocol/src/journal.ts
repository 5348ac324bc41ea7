import { z } from '@hono/zod-openapi';
import { Id, Time } from './id.ts';

/** One line of a sandbox's journal (its trajectory). `prev` is the hash of the line before, `hash` of this one without `hash`. */
export const JournalRecord = z
  .object({
    seq: z.number().int(),
    at: Time,
    type: z.enum(['sandbox', 'exec_start', 'exec_end', 'file', 'port', 'reach', 'state']),
    exec: Id.optional(),
    data: z.record(z.string(), z.unknown()),
    prev: z.string(),
    hash: z.string(),
  })
  .openapi('JournalRecord');
export type JournalRecord = z.infer<typeof JournalRecord>;

export const LogsQuery = z.object({
  after: z.coerce.number().int().min(-1).default(-1).describe('seq of the last record already seen'),
  limit: z.coerce.number().int().min(1).max(10_000).default(1000),
});
