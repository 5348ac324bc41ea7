import { z } from '@hono/zod-openapi';
import { ImageName } from './id.ts';
import { Image } from './image.ts';
import { LIMITS } from './sandbox.ts';

/** Longest build, and what one gets that says nothing. */
export const BUILD_TIMEOUT_MS = { default: 600_000, max: 86_400_000 } as const;
/** Names and values of one map, list of arguments or labels together, as JSON. */
export const BUILD_JSON_MAX = 8192;

/** The network of the steps of a build: none, or the node’s own. */
export const BuildNetwork = z.enum(['none', 'node']);
export type BuildNetwork = z.infer<typeof BuildNetwork>;

const limit = (name: 'cpus' | 'memoryMiB' | 'pids' | 'diskMiB', preset: number) => {
  const { min, max, unit } = LIMITS[name];
  return z.number().min(min).max(max).default(preset).describe(unit);
};

/** What one step of a build may use: more than an ordinary sandbox, for compilers and package managers need it. */
export const BuildLimits = z
  .strictObject({
    cpus: limit('cpus', 4),
    memoryMiB: limit('memoryMiB', 4096),
    pids: limit('pids', 4096),
    diskMiB: limit('diskMiB', 16_384),
  })
  .openapi('BuildLimits');
export type BuildLimits = z.infer<typeof BuildLimits>;

const values = z.record(z.string().min(1).max(255), z.string().max(BUILD_JSON_MAX));
export const ImageMap = z.record(z.string().min(1).max(500), ImageName);
export type ImageMap = z.infer<typeof ImageMap>;

/** An image to be built from a Dockerfile; the files come beside it, as a tar. */
export const BuildRequest = z.strictObject({
  name: ImageName,
  dockerfile: z.string().min(1).max(4096).default('Dockerfile').describe('path within the context'),
  target: z.string().min(1).max(200).optional().describe('stage to build; absent: the last'),
  buildArgs: values.default({}),
  labels: values.default({}),
  map: ImageMap.default({}).describe('local images that FROM names stand for; before the node’s image-map.json'),
  network: BuildNetwork.default('none').describe(
    '`node`: RUN steps share the node’s own network, for package managers; needs a key with the scope `admin`',
  ),
  noCache: z.boolean().default(false).describe('run every step again'),
  limits: BuildLimits.prefault({}),
  timeoutMs: z.number().int().min(1).max(BUILD_TIMEOUT_MS.max).default(BUILD_TIMEOUT_MS.default),
});
export type BuildRequest = z.infer<typeof BuildRequest>;
export type BuildRequestInput = z.input<typeof BuildRequest>;

const json = (what: string) =>
  z
    .string()
    .max(BUILD_JSON_MAX * 2)
    .optional()
    .describe(`${what}, as JSON in base64 (or base64url)`);

/** The same as query parameters. */
export const BuildQuery = z.object({
  name: ImageName,
  dockerfile: z.string().max(4096).optional().describe('path within the context; default `Dockerfile`'),
  target: z.string().max(200).optional().describe('stage to build; absent: the last'),
  buildArgs: json('object of names and values'),
  labels: json('object of names and values'),
  map: json('object: what FROM names → image of this node'),
  network: BuildNetwork.optional().describe('default `none`; `node` needs the scope `admin`'),
  noCache: z.enum(['true', 'false']).optional(),
  limits: json('BuildLimits'),
  timeoutMs: z.coerce.number().int().optional().describe(`of the whole build; default ${BUILD_TIMEOUT_MS.default}`),
});
export type BuildQuery = z.infer<typeof BuildQuery>;

/** Lines of NDJSON that a build streams; the last one is `done` or `error`. */
export const BuildProgress = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('step'),
      index: z.number().describe('from 1'),
      total: z.number(),
      line: z.number().describe('in the Dockerfile'),
      instruction: z.string(),
      cached: z.boolean().nullable().describe('null: it begins; true: there was nothing to do'),
      ms: z.number().nullable().describe('null: it begins'),
    }),
    z.object({ type: z.literal('output'), stream: z.enum(['stdout', 'stderr']), text: z.string() }),
    z.object({ type: z.literal('warning'), line: z.number().nullable(), message: z.string() }),
    z.object({ type: z.literal('done'), image: Image }),
    z.object({ type: z.literal('error'), error: z.record(z.string(), z.unknown()) }),
  ])
  .openapi('BuildProgress');
export type BuildProgress = z.infer<typeof BuildProgress>;

export const PruneReport = z
  .object({ removed: z.array(ImageName), bytes: z.number().describe('of layers that nothing else needs') })
  .openapi('PruneReport');
export type PruneReport = z.infer<typeof PruneReport>;
