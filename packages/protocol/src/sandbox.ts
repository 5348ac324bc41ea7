import { z } from '@hono/zod-openapi';
import { Env, Id, ImageName, Labels, Metadata, Time, UserSpec } from './id.ts';
import { ImageRef } from './image-ref.ts';
import { MountedVolume, VolumeMounts } from './volume.ts';

export const Kind = z.enum(['fn', 'container', 'microvm', 'vm']);
export type Kind = z.infer<typeof Kind>;
/** What lists show unless asked for another: containers of pools (`fn`) are in the list of pools. */
export const LISTED_KINDS: readonly Kind[] = ['container', 'microvm', 'vm'];

/** What a sandbox may use. Each has a name, a default and a maximum; above the maximum: `limit_too_high`. */
export const LIMITS = {
  cpuWeight: { default: 100, min: 1, max: 10_000, unit: 'cgroup v2 cpu.weight' },
  cpus: { default: 2, min: 0.01, max: 1024, unit: 'CPUs of quota' },
  memoryMiB: { default: 1024, min: 16, max: 1_048_576, unit: 'MiB, tmpfs included' },
  pids: { default: 512, min: 4, max: 32_768, unit: 'processes and threads' },
  diskMiB: { default: 4096, min: 1, max: 1_048_576, unit: 'MiB written' },
  nofile: { default: 4096, min: 16, max: 1_048_576, unit: 'descriptors per process' },
  ptys: { default: 32, min: 0, max: 1024, unit: 'pseudo-terminals' },
} as const;
export type LimitName = keyof typeof LIMITS;

const limit = (name: LimitName) => {
  const { default: preset, min, max, unit } = LIMITS[name];
  const number = name === 'cpus' ? z.number() : z.number().int();
  return number
    .min(min)
    .max(max, { error: `limit_too_high: ${name} is at most ${max} (${unit})` })
    .default(preset);
};
export const Limits = z
  .strictObject({
    cpuWeight: limit('cpuWeight'),
    cpus: limit('cpus'),
    memoryMiB: limit('memoryMiB'),
    pids: limit('pids'),
    diskMiB: limit('diskMiB'),
    nofile: limit('nofile'),
    ptys: limit('ptys'),
  })
  .openapi('Limits');
export type Limits = z.infer<typeof Limits>;

/** A host-side endpoint that answers on localhost inside: sealed but connected. */
export const Reach = z
  .strictObject({
    port: z.number().int().min(1).max(65_535).describe('port on 127.0.0.1 inside the sandbox'),
    url: z
      .string()
      .url()
      .max(2000)
      .describe(
        'http(s)://host:port[/path] on the node’s side; each request carries X-Vivarium-Sandbox (its id) and X-Vivarium-Token (base64url of HMAC-SHA256 over `reach:PORT`, the key being the sandbox’s token)',
      ),
    headers: z
      .record(z.string().max(100), z.string().max(4000))
      .optional()
      .describe('added to every request on the way out, never visible inside'),
    maxConnections: z.number().int().min(1).max(1024).default(64),
    maxBytes: z
      .number()
      .int()
      .min(1)
      .max(2 ** 50)
      .default(2 ** 34)
      .describe('both directions together, over the life of the sandbox'),
  })
  .openapi('Reach');
export type Reach = z.infer<typeof Reach>;

export const SandboxState = z.enum([
  'creating',
  'running',
  'pausing',
  'paused',
  'resuming',
  'ending',
  'ended',
  'failed',
]);
export type SandboxState = z.infer<typeof SandboxState>;

/** Why a sandbox ended. */
export const EndReason = z.enum(['killed', 'ttl', 'idle', 'lease', 'exited', 'lost', 'create_failed', 'node_down']);
export type EndReason = z.infer<typeof EndReason>;

const seconds = z
  .number()
  .int()
  .min(1)
  .max(30 * 86_400);

/** Images that may lie over a sandbox's own. */
export const OVERLAYS_MAX = 8;

export const SandboxCreate = z
  .strictObject({
    image: ImageRef.describe(
      'an image of the node, or an OCI reference: the node brings that image once, and keeps it',
    ),
    kind: Kind.default('container'),
    name: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,62}$/)
      .optional()
      .describe('also the host name inside'),
    labels: Labels.default({}),
    metadata: Metadata.default({}).describe('any strings that you want to find with it; no program inside sees them'),
    env: Env.default({}),
    cwd: z.string().startsWith('/').max(4096).optional(),
    user: UserSpec.optional(),
    limits: Limits.prefault({}),
    ttlS: seconds.default(3600).describe('ends this long after creation'),
    idleTimeoutS: seconds.nullable().default(null).describe('ends after this long without traffic; null: never'),
    onTimeout: z.enum(['kill', 'pause']).default('kill'),
    pauseMemory: z
      .boolean()
      .default(true)
      .describe('`onTimeout: pause` keeps its processes, frozen; false: it ends them and keeps the files'),
    autoResume: z
      .boolean()
      .default(false)
      .describe('while it is paused, commands, file calls and connections to its ports resume it'),
    lease: Id.optional().describe('lease that owns the sandbox'),
    reach: z.array(Reach).max(16).default([]),
    overlay: z
      .array(ImageName)
      .max(OVERLAYS_MAX)
      .default([])
      .describe('images whose layers go on top of those of `image`, in this order; their configs do not count'),
    volumes: VolumeMounts.default([]).describe('volumes to mount, in containers only'),
  })
  .openapi('SandboxCreate');
export type SandboxCreate = z.infer<typeof SandboxCreate>;
export type SandboxCreateInput = z.input<typeof SandboxCreate>;

export const Sandbox = z
  .object({
    id: Id,
    name: z.string().nullable(),
    kind: Kind,
    image: ImageName,
    state: SandboxState,
    endReason: EndReason.nullable(),
    error: z.string().nullable(),
    labels: Labels,
    metadata: Metadata,
    limits: Limits,
    createdAt: Time,
    startedAt: Time.nullable(),
    endedAt: Time.nullable(),
    expiresAt: Time.nullable(),
    idleTimeoutS: z.number().nullable(),
    onTimeout: z.enum(['kill', 'pause']),
    pauseMemory: z.boolean(),
    autoResume: z.boolean(),
    cold: z.boolean().describe('paused without memory: it has no processes; resuming starts it anew over its files'),
    lease: Id.nullable(),
    reach: z.array(Reach.omit({ headers: true })),
    overlay: z.array(ImageName),
    volumes: z.array(MountedVolume),
    network: z.enum(['none', 'node']).describe('`node`: a step of a build that was given the node’s own network'),
    token: z
      .string()
      .optional()
      .describe('for direct traffic to this sandbox; only in the answers to create and inspect'),
  })
  .openapi('Sandbox');
export type Sandbox = z.infer<typeof Sandbox>;

export const SandboxUpdate = z
  .strictObject({
    ttlS: seconds.optional().describe('from now on'),
    idleTimeoutS: seconds.nullable().optional(),
    onTimeout: z.enum(['kill', 'pause']).optional(),
    pauseMemory: z.boolean().optional(),
    autoResume: z.boolean().optional(),
    labels: Labels.optional().describe('in place of those it has'),
    metadata: Metadata.optional().describe('in place of what it has'),
  })
  .openapi('SandboxUpdate');
export type SandboxUpdate = z.infer<typeof SandboxUpdate>;

export const Stats = z
  .object({
    at: Time,
    cpuUsageUs: z.number(),
    cpuThrottledUs: z.number(),
    cpuWantedUs: z.number().describe('used, and waited for because of its own limit'),
    memoryBytes: z.number(),
    memoryPeakBytes: z.number(),
    memoryLimitBytes: z.number(),
    memoryCacheBytes: z
      .number()
      .describe('part of memoryBytes that is file cache: the kernel takes it back when needed'),
    oomKills: z.number(),
    pids: z.number(),
    pidsLimit: z.number(),
    diskBytes: z.number(),
    diskLimitBytes: z.number(),
    execsRunning: z.number(),
    execsTotal: z.number(),
  })
  .openapi('Stats');
export type Stats = z.infer<typeof Stats>;

/** One path that differs from the image. `pathB64` is there when the name is not UTF-8. */
export const Change = z
  .object({
    path: z.string(),
    pathB64: z.string().optional(),
    change: z.enum(['added', 'changed', 'deleted']),
    type: z.enum(['file', 'dir', 'symlink', 'fifo', 'socket', 'char', 'block', 'unknown']),
    sizeBytes: z.number(),
  })
  .openapi('Change');
export type Change = z.infer<typeof Change>;

export const PauseRequest = z
  .strictObject({
    memory: z
      .boolean()
      .default(true)
      .describe('true: its processes stand still; false: they end (commands as `canceled`) and only its files stay'),
    expires: z
      .boolean()
      .default(false)
      .describe(
        'true: its time to live goes on; false: nothing but a call ends it, and resuming gives it its full time',
      ),
  })
  .openapi('PauseRequest');
export type PauseRequest = z.infer<typeof PauseRequest>;
export type PauseRequestInput = z.input<typeof PauseRequest>;

export const ForkRequest = z
  .strictObject({
    count: z.number().int().min(1).max(100).default(1),
    labels: Labels.optional().describe('default: those of the original'),
    metadata: Metadata.optional().describe('default: that of the original'),
    ttlS: seconds.optional().describe('default: that of the original'),
  })
  .openapi('ForkRequest');
export type ForkRequest = z.infer<typeof ForkRequest>;
export type ForkRequestInput = z.input<typeof ForkRequest>;
export const SnapshotRequest = z
  .strictObject({ image: ImageName, labels: Labels.optional() })
  .openapi('SnapshotRequest');

const AbsolutePath = z
  .string()
  .max(4096)
  .regex(/^\/(?!.*(^|\/)\.\.?(\/|$))/, 'an absolute path without . and ..');
export const MountRequest = z
  .strictObject({
    image: ImageName.describe('an image of one layer'),
    from: AbsolutePath.default('/').describe('directory of the image'),
    at: AbsolutePath.describe('directory of the sandbox'),
  })
  .openapi('MountRequest');
export type MountRequest = z.infer<typeof MountRequest>;
export const UnmountQuery = z.object({ at: AbsolutePath });

export const SweepRequest = z
  .strictObject({
    keepLabels: z.array(z.string().max(200)).max(64).default([]).describe('commands with one of these labels run on'),
  })
  .openapi('SweepRequest');

export const ProcessInfo = z
  .object({
    pid: z.number(),
    ppid: z.number(),
    uid: z.number(),
    state: z.string(),
    comm: z.string(),
    argv: z.array(z.string()),
    rssKiB: z.number(),
    userMs: z.number(),
    systemMs: z.number(),
  })
  .openapi('Process');
export type ProcessInfo = z.infer<typeof ProcessInfo>;
