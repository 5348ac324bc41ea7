import { createHash } from 'node:crypto';
import { VivError } from '@vivarium/protocol';
import type { Catalog } from '../catalog.ts';
import type { LayerFiles } from '../layer-files.ts';
import type { LayerMounts } from '../layer-mounts.ts';
import { LAYER_LIMITS } from '../limits.ts';
import type { LayerRecord } from '../manifest.ts';
import type { Report } from '../progress.ts';
import type { OciLayer } from './image-parts.ts';
import type { Converted } from './layer/convert.ts';
import type { LayerConverter } from './layer/converter.ts';

export type OciLayersParts = { catalog: Catalog; files: LayerFiles; mounts: LayerMounts; now(): Date };

/** A layer of an image that is being imported. `lower`: digests of ours below it, lowest first; `file`: where it may be written. */
export type OneLayer = {
  layer: OciLayer;
  chainId: string;
  lower: readonly string[];
  file: string;
  at: string;
};

/** What one import works with. `directory` is removed when it ends. */
export type Work = { directory: string; converter: LayerConverter; report: Report; signal: AbortSignal };

/** A layer that is there, and whether an import that is under way made it. */
export type Ready = { record: LayerRecord; isNew: boolean };

/** Layers of OCI images as layers of ours: each is converted once, whichever images have it. */
export class OciLayers {
  readonly #parts: OciLayersParts;
  /** Layers that are being converted, by what they are; whoever needs the same one waits. */
  readonly #converting = new Map<string, Promise<unknown>>();
  /** Layers that are converted and in no image yet. */
  readonly #fresh = new Set<LayerRecord>();

  constructor(parts: OciLayersParts) {
    this.#parts = parts;
  }

  /** Null: the layer changes nothing. */
  async ready(one: OneLayer, work: Work): Promise<Ready | null> {
    const { layer, at } = one;
    const { report, signal } = work;
    for (;;) {
      const there = await this.#find(one);
      if (there) {
        report('layer', `${at}: ${layer.diffId.slice(0, 19)} is there already`);
        return there;
      }
      const other = this.#converting.get(layer.diffId);
      if (!other) break;
      report('wait', `${at}: another import is converting ${layer.diffId.slice(0, 19)}`);
      await other.catch(() => {});
      signal.throwIfAborted();
    }
    const converting = this.#convert(one, work).finally(() => this.#converting.delete(layer.diffId));
    this.#converting.set(layer.diffId, converting);
    return converting;
  }

  async #find({ layer, chainId }: OneLayer): Promise<Ready | undefined> {
    const fits = ({ oci }: LayerRecord) =>
      oci?.diffId === layer.diffId && (oci.chainId === null || oci.chainId === chainId);
    const fresh = [...this.#fresh].find(fits);
    if (fresh) return { record: fresh, isNew: true };
    const { catalog, files } = this.#parts;
    const record = catalog.findLayer(fits);
    const good = record && (await files.ensureGood(record.digest).then(yes, no));
    return good ? { record, isNew: false } : undefined;
  }

  async #convert(one: OneLayer, { converter, report, signal }: Work): Promise<Ready | null> {
    const { layer, chainId, lower, file, at } = one;
    const { mounts, files, now } = this.#parts;
    if (!layer.blob)
      throw new VivError(
        'invalid_image',
        `blob ${layer.digest ?? layer.diffId} is not in the archive; nothing was kept`,
      );
    report('layer', `${at}: converting ${layer.diffId.slice(0, 19)}, ${Math.ceil(layer.blob.size / 1024 ** 2)} MiB`);
    const job = {
      blob: layer.blob,
      check: checkOf(layer),
      bounds: BOUNDS,
      lower: lower.map((digest) => mounts.path(digest)),
      file,
    };
    await mounts.ensure(lower);
    const converted = await converter.convert(job, signal);
    tell(converted, at, report);
    if (!converted.layer) return null;
    const { digest } = converted.layer;
    const isNew = !files.isKnownGood(digest);
    const { sizeBytes } = await files.admit(file, digest);
    const blob = layer.digest === null ? null : { digest: layer.digest, sizeBytes: layer.sizeBytes ?? layer.blob.size };
    const oci = { diffId: layer.diffId, chainId: converted.usesLower ? chainId : null, blob };
    const createdAt = now().toISOString();
    const record: LayerRecord = { digest, sizeBytes, createdBy: layer.createdBy, createdAt, format: 'erofs', oci };
    if (isNew) this.#fresh.add(record);
    return { record, isNew };
  }

  /** Which of these layers of an image (digests of blobs, lowest first) would be found. */
  known(blobs: readonly string[]): ReadonlySet<string> {
    const known = new Set<string>();
    let chain: string | null | undefined = null;
    for (const digest of blobs) {
      const diffId = this.#parts.catalog.findLayer(({ oci }) => oci?.blob?.digest === digest)?.oci?.diffId;
      chain = diffId === undefined || chain === undefined ? undefined : chainOf(chain, diffId);
      const record = this.#parts.catalog.findLayer(
        ({ oci }) => oci?.diffId === diffId && (oci?.chainId === null || oci?.chainId === chain),
      );
      if (diffId !== undefined && record && this.#parts.files.isKnownGood(record.digest)) known.add(digest);
    }
    return known;
  }

  /** Throws unless all are there still. Called while none can be removed. */
  requireThere(ready: readonly Ready[]): void {
    for (const { record } of ready)
      if (!this.#parts.files.isKnownGood(record.digest))
        throw new VivError('import_failed', `layer ${record.digest} was removed meanwhile; nothing was kept`, {
          hint: 'Try again.',
        });
  }

  /** The import has ended: its layers are in an image, or gone. */
  settle(ready: readonly Ready[]): void {
    for (const { record } of ready) this.#fresh.delete(record);
  }

  /** Layers that a failed import made go, unless another one has taken them up meanwhile. */
  async drop(ready: readonly Ready[]): Promise<void> {
    const { catalog, mounts, files } = this.#parts;
    for (const { record, isNew } of [...ready].reverse()) {
      if (isNew && !catalog.isNeeded(record.digest) && (await mounts.drop(record.digest))) files.remove(record.digest);
    }
  }
}

/** OCI image-spec, config.md, "Layer ChainID". */
export function chainOf(below: string | null, diffId: string): string {
  if (below === null) return diffId;
  return `sha256:${createHash('sha256').update(`${below} ${diffId}`).digest('hex')}`;
}

const BOUNDS = {
  maxEntries: LAYER_LIMITS.maxPackEntries,
  maxBytes: LAYER_LIMITS.maxLayerBytes,
  maxDepth: LAYER_LIMITS.maxPackDepth,
  maxMetadataBytes: LAYER_LIMITS.maxOciMetadataBytes,
};

function checkOf({ digest, sizeBytes, diffId }: OciLayer) {
  return { digest, sizeBytes, diffId, reserveBytes: LAYER_LIMITS.reserveBytes, maxBytes: LAYER_LIMITS.maxLayerBytes };
}

function tell({ notes, entries, layer }: Converted, at: string, report: Report): void {
  const { devices, firstDevice, owners, xattrs } = notes;
  if (devices > 0)
    report('layer', `${at}: left out ${devices} device nodes: ${firstDevice}${devices > 1 ? ', …' : ''}`);
  if (owners > 0)
    report(
      'layer',
      `${at}: ${owners} entries have owners past 65535, which no sandbox has: they belong to nobody (65534)`,
    );
  if (xattrs > 0) report('layer', `${at}: left out ${xattrs} extended attributes that have no meaning in a sandbox`);
  report('layer', layer ? `${at}: ${entries} entries` : `${at}: empty`, { done: entries });
}

const yes = () => true;
const no = () => false;
