import { join } from 'node:path';
import { type Image, type ImageConfig, VivError } from '@vivarium/protocol';
import type { ImageMaker } from '../image-maker.ts';
import { LAYER_LIMITS } from '../limits.ts';
import type { LayerRecord } from '../manifest.ts';
import type { Report } from '../progress.ts';
import { Semaphore } from '../semaphore.ts';
import type { ImageFiles } from './blobs.ts';
import { foundationLayer, needsFoundation } from './foundation.ts';
import { imageParts } from './image-parts.ts';
import { LayerConverter } from './layer/converter.ts';
import { imageConfigOf } from './oci-config.ts';
import { chainOf, OciLayers, type OciLayersParts, type Ready, type Work } from './oci-layers.ts';
import { refusing } from './refusal-error.ts';

export type OciImporterParts = OciLayersParts & {
  maker: ImageMaker;
  /** Held while layers and manifests come and go together. */
  changing: Semaphore;
};

/** Gets the files of an OCI image: from an upload, from a registry. */
export interface OciSource {
  fetch(context: FetchContext): Promise<ImageFiles>;
}

export type FetchContext = Work & {
  /** Which of these layers (digests of blobs, lowest first) need no blob, since they are here. */
  knownBlobs(digests: readonly string[]): ReadonlySet<string>;
};

export type OciPlan = {
  name: string;
  source: OciSource;
  /** Which image of the archive. */
  ref?: string | undefined;
  /** Before what the image says; env and labels are joined. */
  config: Partial<ImageConfig>;
};

/** Makes images of OCI images: each layer becomes one of ours, once. */
export class OciImporter {
  readonly #parts: OciImporterParts;
  readonly #layers: OciLayers;
  readonly #slots = new Semaphore(LAYER_LIMITS.maxOciImports);

  constructor(parts: OciImporterParts) {
    this.#parts = parts;
    this.#layers = new OciLayers(parts);
  }

  /** @throws VivError as ImageStore.import does. */
  import(plan: OciPlan, report: Report, signal: AbortSignal): Promise<Image> {
    return this.#parts.maker.makeBy(
      plan.name,
      async (directory) => {
        const converter = new LayerConverter();
        try {
          const files = await plan.source.fetch({
            directory,
            converter,
            knownBlobs: (digests) => this.#layers.known(digests),
            report,
            signal,
          });
          return await this.#make(plan, files, { directory, converter, report, signal });
        } finally {
          converter.close();
        }
      },
      report,
      signal,
      this.#slots,
    );
  }

  async #make(plan: OciPlan, files: ImageFiles, work: Work): Promise<Image> {
    const { directory, report, signal } = work;
    const parts = refusing(() => imageParts(files, plan.ref));
    const { config, warnings } = imageConfigOf(parts.config);
    for (const warning of warnings) report('config', warning);
    const { layers } = parts;
    const ready: Ready[] = [];
    const releases: (() => void)[] = [];
    const hold = (made: Ready, where: 'push' | 'unshift') => {
      ready[where](made);
      releases.push(this.#parts.mounts.hold([made.record.digest]));
    };
    let chainId: string | null = null;
    try {
      for (const [index, layer] of layers.entries()) {
        chainId = chainOf(chainId, layer.diffId);
        const lower = ready.map(({ record }) => record.digest);
        const one = {
          layer,
          chainId,
          lower,
          file: join(directory, `layer-${index}`),
          at: `${index + 1} of ${layers.length}`,
        };
        const made = await this.#layers.ready(one, work);
        if (made) hold(made, 'push');
      }
      const foundation = await this.#foundation(ready, work);
      if (foundation) hold(foundation, 'unshift');
      return await this.#parts.changing.run(async () => {
        signal.throwIfAborted();
        this.#layers.requireThere(ready);
        return await this.#register(plan, merged(config, plan.config), ready);
      });
    } catch (thrown) {
      for (const release of releases.splice(0)) release();
      await this.#parts.changing.run(() => this.#layers.drop(ready));
      throw thrown;
    } finally {
      this.#layers.settle(ready);
      for (const release of releases) release();
    }
  }

  /** A layer of mount points below the others, where they lack them. */
  async #foundation(ready: readonly Ready[], work: Work): Promise<Ready | null> {
    const { mounts } = this.#parts;
    const digests = ready.map(({ record }) => record.digest);
    await mounts.ensure(digests);
    if (!needsFoundation(digests.map((digest) => mounts.path(digest)))) return null;
    const layer = foundationLayer(work.directory);
    const file = join(work.directory, 'layer-foundation');
    return this.#layers.ready({ layer, chainId: layer.diffId, lower: [], file, at: 'mount points' }, work);
  }

  async #register(plan: OciPlan, config: ImageConfig, ready: readonly Ready[]): Promise<Image> {
    const { catalog, now } = this.#parts;
    const layers = new Map<string, LayerRecord>();
    for (const { record } of ready) {
      layers.delete(record.digest);
      layers.set(record.digest, record);
    }
    if (layers.size > LAYER_LIMITS.maxImageLayers)
      throw new VivError(
        'limit_too_high',
        `the image has ${layers.size} layers, more than ${LAYER_LIMITS.maxImageLayers}`,
        {
          details: { limit: 'maxImageLayers' },
        },
      );
    await catalog.add({
      format: 'vivarium.image/1',
      name: plan.name,
      layers: [...layers.values()],
      config,
      createdAt: now().toISOString(),
      parent: null,
      lineage: { kind: 'import', parent: null, sandbox: null, key: null },
    });
    return catalog.get(plan.name).image;
  }
}

function merged(config: ImageConfig, own: Partial<ImageConfig>): ImageConfig {
  return { ...config, ...own, env: { ...config.env, ...own.env }, labels: { ...config.labels, ...own.labels } };
}
