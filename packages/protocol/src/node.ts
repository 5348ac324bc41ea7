import { z } from '@hono/zod-openapi';
import { Kind } from './sandbox.ts';

export const Capability = z
  .object({
    name: z.string(),
    kind: Kind.nullable(),
    ok: z.boolean(),
    reason: z.string().nullable(),
    remedy: z.string().nullable(),
  })
  .openapi('Capability');
export type Capability = z.infer<typeof Capability>;

export const NodeInfo = z
  .object({
    id: z.string(),
    version: z.string(),
    uptimeS: z.number(),
    sandboxes: z.object({ live: z.number(), running: z.number(), paused: z.number(), createdTotal: z.number() }),
    execs: z.object({ running: z.number(), total: z.number() }),
    memory: z.object({ totalBytes: z.number(), availableBytes: z.number(), serverRssBytes: z.number() }),
    disk: z.object({ totalBytes: z.number(), freeBytes: z.number() }),
    capabilities: z.array(Capability),
  })
  .openapi('Node');
export type NodeInfo = z.infer<typeof NodeInfo>;
