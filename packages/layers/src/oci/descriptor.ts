import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type ImageFiles, readSmall } from './blobs.ts';
import { Refusal } from './refusal.ts';

const JSON_MAX = 4 * 1024 ** 2;

export const BlobDigest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

/** OCI image-spec, descriptor.md. */
export const Descriptor = z.object({
  mediaType: z.string().default(''),
  digest: BlobDigest,
  size: z.number().int().min(0),
  annotations: z.record(z.string(), z.string()).nullish(),
  platform: z.object({ os: z.string().default(''), architecture: z.string().default('') }).nullish(),
});
export type Descriptor = z.infer<typeof Descriptor>;

/** Image and index in one (manifest.md, image-index.md): which one it is shows in what is there. */
export const AnyManifest = z.object({
  mediaType: z.string().optional(),
  artifactType: z.string().optional(),
  manifests: z.array(Descriptor).max(1000).optional(),
  config: Descriptor.optional(),
  layers: z.array(Descriptor).max(1000).optional(),
});

/** docker-save: `manifest.json`. */
export const DockerManifests = z
  .array(
    z.object({
      Config: z.string().min(1),
      RepoTags: z.array(z.string()).nullish(),
      Layers: z.array(z.string().min(1)).max(1000),
    }),
  )
  .max(1000);

export function blobName(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

/** A blob that is JSON, checked against its digest. Throws Refusal that names it. */
export function readBlob<T>(files: ImageFiles, digest: string, schema: z.ZodType<T>): T {
  return parsed(
    checked(readSmall(files, blobName(digest), JSON_MAX), digest, `blob ${digest}`),
    schema,
    `blob ${digest}`,
  );
}

/** Another file that is JSON. `digest`: checked when there is one. */
export function readJson<T>(files: ImageFiles, name: string, schema: z.ZodType<T>, digest: string | null = null): T {
  const bytes = readSmall(files, name, JSON_MAX);
  return parsed(digest === null ? bytes : checked(bytes, digest, name), schema, name);
}

function checked(bytes: Buffer, digest: string, what: string): Buffer {
  const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (found !== digest) throw new Refusal('invalid_image', `${what} is not what its name says: its digest is ${found}`);
  return bytes;
}

function parsed<T>(bytes: Buffer, schema: z.ZodType<T>, what: string): T {
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    throw new Refusal('invalid_image', `${what} is no JSON: ${(cause as Error).message}`);
  }
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new Refusal('invalid_image', `${what}: ${issue?.path.join('.') || 'it'}: ${issue?.message}`);
}
