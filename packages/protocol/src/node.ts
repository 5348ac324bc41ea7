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

/** How hard the machine has to work; counters since it booted, for differences between two moments. */
export const Pressure = z
  .object({
    cpus: z.number().int(),
    loadAvg: z.tuple([z.number(), z.number(), z.number()]).describe('over 1, 5 and 15 minutes'),
    cpuTotalMs: z.number().describe('all CPUs together'),
    cpuBusyMs: z.number(),
    cpuStealMs: z.number().describe('taken by the host of this virtual machine'),
    cpuBusyPct: z.number().describe('over the last seconds'),
    stealPct: z.number(),
    memAvailableBytes: z.number(),
    memTotalBytes: z.number(),
    psi: z
      .object({ cpuSome10: z.number(), memorySome10: z.number(), memoryFull10: z.number(), ioSome10: z.number() })
      .nullable()
      .describe('per cent of the last 10 s in which something waited; null: the kernel does not count'),
  })
  .openapi('Pressure');
export type Pressure = z.infer<typeof Pressure>;

export const NodeInfo = z
  .object({
    id: z.string(),
    version: z.string(),
    uptimeS: z.number(),
    sandboxes: z.object({ live: z.number(), running: z.number(), paused: z.number(), createdTotal: z.number() }),
    execs: z.object({ running: z.number(), total: z.number() }),
    memory: z.object({ totalBytes: z.number(), availableBytes: z.number(), serverRssBytes: z.number() }),
    disk: z.object({ totalBytes: z.number(), freeBytes: z.number() }),
    pressure: Pressure,
    capabilities: z.array(Capability),
  })
  .openapi('Node');
export type NodeInfo = z.infer<typeof NodeInfo>;
