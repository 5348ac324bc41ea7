import { join } from 'node:path';
import { type Image, ImageName, type PackReport, VivError } from '@vivarium/protocol';
import type { Catalog } from './catalog.ts';
import type { Written } from './erofs/image-file.ts';
import type { LayerFiles } from './layer-files.ts';
import type { LayerMounts } from './layer-mounts.ts';
import { LAYER_LIMITS } from './limits.ts';
import type { LayerRecord } from './manifest.ts';
import type { PackOutcome } from './pack/job.ts';
import { Packer } from './pack/packer.ts';
import type { Registrar, Registration } from './registrar.ts';
import type { Semaphore } from './semaphore.ts';
import { namingFullDisk } from './space.ts';
import type { CommitRequest, PackOptions } from './store.ts';
import type { TempArea } from './temp-area.ts';

export type CommitterParts = {
  catalog: Catalog;
  files: LayerFiles;
  mounts: LayerMounts;
  temp: TempArea;
  registrar: Registrar;
  /** Held while layers and manifests come and go together. */
  changing: Semaphore;
};

const AS_IT_IS: PackOptions = { scrub: 'none', keep: [], exclude: [], times: 'kept' };

/** Makes images of what sandboxes changed: a layer of an overlay upper directory, or two. */
export class Committer {
  readonly #parts: CommitterParts;
  readonly #packer = new Packer();

  constructor(parts: CommitterParts) {
    this.#parts = parts;
  }

  /** See ImageStore. The caller holds the images below. */
  async commit(request: CommitRequest): Promise<PackReport> {
    const { catalog, mounts, temp, changing } = this.#parts;
    requireNames(request);
    const below = layersBelow(catalog, request);
    requireLayerRoom(request.parent, below);
    const digests = below.map(({ digest }) => digest);
    await mounts.ensure(digests);
    return temp.useForFiles(async (directory) => {
      try {
        const layers = digests.map((digest) => mounts.path(digest));
        const outcome = await this.#pack(request, layers, directory);
        return await changing.run(() => this.#register(request, below, directory, outcome));
      } catch (thrown) {
        throw namingFullDisk(thrown, directory);
      }
    });
  }

  close(): void {
    this.#packer.close();
  }

  #pack(request: CommitRequest, layers: string[], directory: string): Promise<PackOutcome> {
    const { scrub, keep, exclude, times, split } = request.pack ?? AS_IT_IS;
    const { epoch, createdAt } = this.#parts.catalog.get(request.parent).manifest;
    const job = {
      upper: request.upperDir,
      layers,
      idShift: request.idShift,
      scrub: scrub === 'default',
      keep,
      exclude,
      protect: split?.protect ?? null,
      restore: split?.restore ?? [],
      closed: split?.closed ?? [],
      except: split?.except ?? [],
      programs: split?.programs ?? [],
      only: split?.only ?? null,
      clampMs: times === 'fixed' ? Date.parse(epoch ?? createdAt) : null,
      files: [join(directory, 'whole'), join(directory, 'split')] as const,
      reserveBytes: LAYER_LIMITS.reserveBytes,
      maxBytes: LAYER_LIMITS.maxLayerBytes,
      maxEntries: LAYER_LIMITS.maxPackEntries,
      maxDepth: LAYER_LIMITS.maxPackDepth,
    };
    return this.#packer.run(job, request.signal ?? new AbortController().signal);
  }

  /** Both images, or none. */
  async #register(
    request: CommitRequest,
    below: readonly LayerRecord[],
    directory: string,
    outcome: PackOutcome,
  ): Promise<PackReport> {
    const { catalog, registrar } = this.#parts;
    const { split } = request.pack ?? AS_IT_IS;
    const added: LayerRecord[] = [];
    let made: string[] = [];
    try {
      const admit = async (written: Written | null, file: string) => {
        if (!written) return null;
        const layer = await this.#admit(request, written, join(directory, file));
        added.push(layer);
        return layer;
      };
      const whole = await admit(outcome.whole, 'whole');
      const other = !split || outcome.split === 'same' ? whole : await admit(outcome.split, 'split');
      const named = [
        this.#registration(request, request.name, below, whole),
        ...(split ? [this.#registration(request, split.image, below, other)] : []),
      ];
      made = named.map(({ name }) => name).filter((name) => !catalog.has(name));
      const [image, second = null] = (await registrar.registerAll(named)) as [Image, Image?];
      const { changed, removed, excluded, suspicious, leftOut, leftOutEntries } = outcome;
      const layer = whole ? image.layers.at(-1)! : null;
      return {
        image,
        layer,
        changed,
        removed,
        excluded,
        suspicious,
        split: second && { image: second, leftOut, leftOutEntries },
      };
    } catch (error) {
      for (const name of made) await catalog.remove(name);
      for (const { digest } of added) this.#drop(digest);
      throw error;
    }
  }

  /** The layer as it was first made, if it is there already: its time then stays. */
  async #admit(request: CommitRequest, written: Written, file: string): Promise<LayerRecord> {
    const { catalog, files } = this.#parts;
    const { digest, sizeBytes } = await files.admit(file, written.digest);
    const createdAt = this.#parts.registrar.now();
    return catalog.layer(digest) ?? { digest, sizeBytes, createdBy: request.createdBy, createdAt, format: 'erofs' };
  }

  #registration(
    request: CommitRequest,
    name: string,
    below: readonly LayerRecord[],
    layer: LayerRecord | null,
  ): Registration {
    const parent = this.#parts.catalog.get(request.parent).image;
    const base = request.config ?? parent.config;
    return {
      name,
      layers: layer ? [...below.filter(({ digest }) => digest !== layer.digest), layer] : below,
      config: { ...base, labels: { ...base.labels, ...request.labels } },
      parent,
      lineage: request.lineage ?? { kind: 'snapshot', sandbox: null, key: null },
    };
  }

  #drop(digest: string): void {
    const { catalog, mounts, files } = this.#parts;
    if (!catalog.isNeeded(digest) && !mounts.isMounted(digest)) files.remove(digest);
  }
}

function requireNames({ name, pack }: CommitRequest): void {
  for (const each of [name, ...(pack?.split ? [pack.split.image] : [])])
    if (!ImageName.safeParse(each).success)
      throw new VivError('invalid_argument', `'${each}' is no image name: role/name@version`);
  if (name === pack?.split?.image)
    throw new VivError('invalid_argument', `the split image needs a name of its own, not ${name} again`, {
      details: { field: 'split.image' },
    });
}

/** The layers that a sandbox of these images has, lowest first; one that comes twice counts where it is highest. */
function layersBelow(catalog: Catalog, { parent, overlay = [] }: CommitRequest): LayerRecord[] {
  const layers = new Map<string, LayerRecord>();
  for (const name of [parent, ...overlay]) {
    for (const layer of catalog.get(name).manifest.layers) {
      layers.delete(layer.digest);
      layers.set(layer.digest, layer);
    }
  }
  return [...layers.values()];
}

function requireLayerRoom(parent: string, below: readonly LayerRecord[]): void {
  if (below.length < LAYER_LIMITS.maxImageLayers) return;
  throw new VivError(
    'limit_too_high',
    `image ${parent} has ${below.length} layers already, the most an image can have`,
    {
      details: { limit: 'maxImageLayers' },
    },
  );
}
