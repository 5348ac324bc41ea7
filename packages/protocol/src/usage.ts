import { z } from '@hono/zod-openapi';
import { Id } from './id.ts';
import { Scope } from './key.ts';

/** What the caller's key may do and what the node holds right now. */
export const Usage = z
  .object({
    key: z.object({ id: Id, name: z.string(), scopes: z.array(Scope), maxSandboxes: z.number().nullable() }),
    sandboxes: z.object({ live: z.number(), running: z.number(), paused: z.number(), createdTotal: z.number() }),
    execs: z.object({ running: z.number(), total: z.number() }),
    memory: z.object({ totalBytes: z.number(), availableBytes: z.number() }),
    disk: z.object({ totalBytes: z.number(), freeBytes: z.number() }),
  })
  .openapi('Usage');
export type Usage = z.infer<typeof Usage>;
