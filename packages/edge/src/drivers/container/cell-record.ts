import { type Limits, VivError } from '@vivarium/protocol';
import { z } from 'zod';
import type { Hierarchy } from '../../limits/hierarchy.ts';

const Dir = z.string().startsWith('/');
const HierarchyRecord = z.union([
  z.object({
    version: z.literal(1),
    bases: z.object({ cpu: Dir, cpuacct: Dir, memory: Dir, pids: Dir, freezer: Dir }).partial(),
  }),
  z.object({ version: z.literal(2), base: Dir, controllers: z.array(z.string()) }),
]);

/** What the registry keeps of a container cell: enough to drive it again after a restart, and to remove it. */
const Schema = z.looseObject({
  id: z.string().regex(/^[a-z0-9-]{1,64}$/),
  kind: z.literal('container'),
  pid: z.number().int().positive(),
  startTime: z.string(),
  bootId: z.string(),
  slot: z.number().int().nonnegative(),
  subvolume: z.number().int().positive(),
  hierarchy: HierarchyRecord,
  hostname: z.string(),
  layers: z.array(z.string()),
  limits: z.custom<Limits>((value) => typeof value === 'object' && value !== null),
  env: z.record(z.string(), z.string()),
  /** Present: one command at a time is its only one. */
  quick: z.literal(true).optional(),
  /** Absent: none. */
  network: z.literal('node').optional(),
});
export type ContainerRecord = z.infer<typeof Schema> & { hierarchy: Hierarchy };

/** The record of a cell of ours. Throws VivError `internal` when it is none: the registry is damaged or of another version. */
export function parseRecord(record: unknown): ContainerRecord {
  const parsed = Schema.safeParse(record);
  if (!parsed.success) throw new VivError('internal', `not a record of a container: ${z.prettifyError(parsed.error)}`);
  return parsed.data as ContainerRecord;
}
