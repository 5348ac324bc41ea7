import { z } from 'zod';
import { LIMITS } from '../sandbox.ts';

/**
 * Messages of the E2B control plane about templates, as its published clients send them. Unknown fields are dropped, as in
 * control.ts; `null` is as good as left out.
 */

const cpus = z.number().int().min(1).max(LIMITS.cpus.max);
const memory = z.number().int().min(LIMITS.memoryMiB.min).max(LIMITS.memoryMiB.max);
const disk = z.number().int().min(0).max(LIMITS.diskMiB.max);
/** Of a tag in a list; may be written `name:tag`. */
const tag = z.string().max(200);
const command = z.string().max(131_072);

/** What begins a build: `name` may be `name:tag`; `alias` is what older clients call it. */
export const E2bTemplateRequest = z.object({
  name: z.string().max(300).nullish(),
  alias: z.string().max(300).nullish(),
  tags: z.array(tag).max(100).nullish(),
  cpuCount: cpus.nullish(),
  memoryMB: memory.nullish(),
  minFreeDiskMb: disk.nullish(),
});
export type E2bTemplateRequest = z.infer<typeof E2bTemplateRequest>;

/** One step. What the arguments mean depends on the type; see builds-steps.ts. */
export const E2bTemplateStep = z.object({
  type: z.string().max(40),
  args: z.array(z.string().max(131_072)).max(2048).nullish(),
  filesHash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'it is 64 hex digits')
    .nullish(),
  force: z.boolean().nullish(),
});
export type E2bTemplateStep = z.infer<typeof E2bTemplateStep>;

export const E2bBuildStart = z.object({
  fromImage: z.string().max(500).nullish(),
  fromTemplate: z.string().max(300).nullish(),
  /** Credentials for the registry. The node uses its own: these are told to be left unused. */
  fromImageRegistry: z.object({ type: z.string() }).nullish(),
  steps: z.array(E2bTemplateStep).max(1000).nullish(),
  startCmd: command.nullish(),
  readyCmd: command.nullish(),
  force: z.boolean().nullish(),
});
export type E2bBuildStart = z.infer<typeof E2bBuildStart>;

export const E2bLogLevel = z.enum(['debug', 'info', 'warn', 'error']);
export type E2bLogLevel = z.infer<typeof E2bLogLevel>;

/** Of the status of a build: entries from `logsOffset` on, of this level and above. */
export const E2bStatusQuery = z.object({
  logsOffset: z.coerce.number().int().min(0).default(0),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  level: E2bLogLevel.default('debug'),
});

/** Of the log of a build: by time, in either direction. */
export const E2bLogQuery = z.object({
  cursor: z.coerce.number().int().min(0).optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  direction: z.enum(['forward', 'backward']).default('forward'),
  level: E2bLogLevel.default('debug'),
});

export const E2bPageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(100),
  nextToken: z.string().max(100).optional(),
});

export const E2bTemplateUpdate = z.object({ public: z.boolean().nullish() });

export const E2bTagAssign = z.object({ target: z.string().max(300), tags: z.array(tag).min(1).max(100) });
export const E2bTagRemove = z.object({ name: z.string().max(300), tags: z.array(tag).min(1).max(100) });
