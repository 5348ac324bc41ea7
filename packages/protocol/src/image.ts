import { z } from '@hono/zod-openapi';
import { Env, Id, ImageName, Labels, Time } from './id.ts';
import { OciReference } from './image-ref.ts';

/** `sha256:<hex>` over the layer's bytes. */
export const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

export const Layer = z
  .object({
    digest: Digest,
    sizeBytes: z.number(),
    createdBy: z.string().describe('what made it: debootstrap, dir, tar, snapshot, …'),
    createdAt: Time,
  })
  .openapi('Layer');
export type Layer = z.infer<typeof Layer>;

/** A command that says whether what an image is for works. Kept for whoever runs it; the node does not run it by itself. */
export const Healthcheck = z
  .strictObject({
    test: z.array(z.string()).min(1).describe('["NONE"], ["CMD", program, argument, …] or ["CMD-SHELL", command]'),
    intervalMs: z.number().int().min(0).optional(),
    timeoutMs: z.number().int().min(0).optional(),
    startPeriodMs: z.number().int().min(0).optional(),
    startIntervalMs: z.number().int().min(0).optional(),
    retries: z.number().int().min(0).optional(),
  })
  .openapi('Healthcheck');
export type Healthcheck = z.infer<typeof Healthcheck>;

export const ImageConfig = z
  .strictObject({
    env: Env.default({}),
    cwd: z.string().startsWith('/').max(4096).optional(),
    user: z.string().max(128).optional(),
    entrypoint: z.array(z.string()).optional(),
    cmd: z.array(z.string()).optional(),
    labels: Labels.default({}),
    shell: z.array(z.string()).min(1).optional().describe('of RUN in Dockerfiles that build on it'),
    exposedPorts: z
      .array(z.string().regex(/^\d{1,5}\/(tcp|udp|sctp)$/))
      .max(1000)
      .optional()
      .describe('as a Dockerfile’s EXPOSE says; nothing is opened by it'),
    stopSignal: z.string().max(32).optional(),
    healthcheck: Healthcheck.optional(),
  })
  .openapi('ImageConfig');
export type ImageConfig = z.infer<typeof ImageConfig>;

/** Where an image comes from. */
export const Lineage = z
  .object({
    kind: z.enum(['import', 'snapshot', 'pack', 'build', 'derive']),
    parent: z.object({ name: ImageName, digest: Digest }).nullable(),
    sandbox: Id.nullable().describe('the sandbox it was packed from'),
    key: z.string().nullable().describe('id of the API key that asked for it'),
  })
  .openapi('Lineage');
export type Lineage = z.infer<typeof Lineage>;

/** An image: ordered layers, lowest first, plus config. Its versions never change. */
export const Image = z
  .object({
    name: ImageName,
    digest: Digest.describe('of the manifest'),
    layers: z.array(Layer),
    config: ImageConfig,
    sizeBytes: z.number(),
    createdAt: Time,
    parent: ImageName.nullable().describe('the image it was made from'),
    lineage: Lineage.optional(),
  })
  .openapi('Image');
export type Image = z.infer<typeof Image>;

export const ImageImport = z
  .strictObject({
    name: ImageName,
    source: z.discriminatedUnion('type', [
      z.strictObject({
        type: z.literal('debootstrap'),
        suite: z.string().regex(/^[a-z][a-z0-9-]{1,40}$/),
        include: z
          .array(z.string().regex(/^[a-z0-9][a-z0-9+.:-]*$/))
          .max(500)
          .default([]),
        variant: z.enum(['minbase', 'apt', 'standard', 'essential']).default('minbase'),
      }),
      z.strictObject({
        type: z.literal('builtin'),
        name: z
          .enum(['base', 'grader-tools', 'e2b-base', 'e2b-code-interpreter'])
          .describe('a recipe that ships with viv'),
      }),
      z.strictObject({
        type: z.literal('registry'),
        ref: OciReference.describe('brought by the node’s skopeo, as its registries.json says'),
      }),
    ]),
    config: ImageConfig.prefault({}),
  })
  .openapi('ImageImport');
export type ImageImport = z.infer<typeof ImageImport>;
export type ImageImportInput = z.input<typeof ImageImport>;

/** Lines of NDJSON that a long operation streams; the last one is `done` or `error`. */
export const Progress = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('progress'),
      stage: z.string(),
      message: z.string(),
      done: z.number().optional(),
      total: z.number().optional(),
    }),
    z.object({ type: z.literal('done'), image: Image }),
    z.object({ type: z.literal('error'), error: z.record(z.string(), z.unknown()) }),
  ])
  .openapi('Progress');
export type Progress = z.infer<typeof Progress>;
