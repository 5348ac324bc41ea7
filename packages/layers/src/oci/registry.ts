import { createHash } from 'node:crypto';
import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { formatOciRef, parseOciRef, VivError } from '@vivarium/protocol';
import { LAYER_LIMITS } from '../limits.ts';
import { requireSpace } from '../space.ts';
import { directoryFiles } from './blobs.ts';
import { AnyManifest, blobName, type Descriptor } from './descriptor.ts';
import { ourDescriptor } from './image-parts.ts';
import type { OciSource } from './oci-importer.ts';
import { refusing } from './refusal-error.ts';
import { checkRegistryAllowed, readRegistrySettings } from './registry-settings.ts';
import { Skopeo } from './skopeo.ts';

/** Between two looks at the free space while blobs come in. */
const LOOK_EVERY_MS = 500;

/** The image that a reference names, brought by skopeo: only the blobs of layers that are not known yet. */
export function registryImage(reference: string, stateDir: string): OciSource {
  const ref = parseOciRef(reference);
  if (!ref) throw new VivError('invalid_argument', `'${reference}' is no OCI reference: HOST/PATH:TAG`);
  const name = formatOciRef(ref);
  return {
    async fetch(context) {
      const { directory, report, signal } = context;
      const settings = readRegistrySettings(stateDir);
      checkRegistryAllowed(settings, ref.registry, name);
      const skopeo = new Skopeo(settings, directory, signal);
      report('fetch', `asking for ${name}`);
      const repository = `${ref.registry}/${ref.repository}`;
      const { digest, layers } = await findImage(skopeo, name, repository, ref.digest);
      const layout = join(directory, 'layout');
      const known = context.knownBlobs(layers.map((layer) => layer.digest));
      const placeholders = layers.filter((layer) => known.has(layer.digest)).map((layer) => placeholder(layout, layer));
      await watchingSpace(directory, (stop) =>
        skopeo.copy(digest === null ? name : `${repository}@${digest}`, layout, (line) => report('fetch', line), stop),
      );
      for (const path of placeholders) rmSync(path, { force: true });
      return directoryFiles(layout);
    },
  } satisfies OciSource;
}

/** The image for this platform. Digest null: the reference leads straight to it. */
async function findImage(
  skopeo: Skopeo,
  name: string,
  repository: string,
  wanted: string | null,
): Promise<{ digest: string | null; layers: Descriptor[] }> {
  const { manifests, layers = [] } = parsed(await skopeo.manifest(name), name, wanted);
  if (!manifests) return { digest: wanted, layers };
  const { digest } = refusing(() => ourDescriptor(manifests));
  const image = parsed(await skopeo.manifest(`${repository}@${digest}`), name, digest);
  return { digest, layers: image.layers ?? [] };
}

/** Checked against its digest where one is known: a raw manifest is what the registry, or a mirror of it, chose to send. */
function parsed(bytes: Buffer, name: string, digest: string | null) {
  const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  if (digest !== null && digest !== found)
    throw new VivError('invalid_image', `the registry has something else under ${digest}: its digest is ${found}`);
  try {
    const manifest = AnyManifest.safeParse(JSON.parse(bytes.toString('utf8')));
    if (manifest.success) return manifest.data;
  } catch {}
  throw new VivError('invalid_image', `what the registry has of ${name} is no manifest (OCI, or Docker's schema 2)`);
}

/**
 * A blob that need not be fetched: skopeo takes what lies there under the name of a blob for it (a file of its size; its digest is not
 * looked at, and nobody reads it).
 */
function placeholder(layout: string, { digest, size }: Descriptor): string {
  const path = join(layout, blobName(digest));
  mkdirSync(dirname(path), { recursive: true });
  const fd = openSync(path, 'w', 0o600);
  try {
    ftruncateSync(fd, size);
  } finally {
    closeSync(fd);
  }
  return path;
}

/** A registry may send more than it said. */
async function watchingSpace(directory: string, work: (stop: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  requireSpace(directory, LAYER_LIMITS.reserveBytes);
  const timer = setInterval(() => {
    try {
      requireSpace(directory, 0);
    } catch (error) {
      stop.abort(error);
    }
  }, LOOK_EVERY_MS);
  try {
    await work(stop.signal);
  } finally {
    clearInterval(timer);
  }
}
