import { type Image, type ImageConfig, ImageName, VivError } from '@vivarium/protocol';
import { buildLayer, type Source } from './builder.ts';
import type { Catalog } from './catalog.ts';
import type { LayerFiles } from './layer-files.ts';
import type { LayerMounts } from './layer-mounts.ts';
import { LAYER_LIMITS } from './limits.ts';
import type { LayerRecord, Manifest } from './manifest.ts';
import type { Report } from './progress.ts';
import { Semaphore } from './semaphore.ts';
import { namingFullDisk } from './space.ts';
import type { TempArea } from './temp-area.ts';

export type ImageMakerParts = {
  catalog: Catalog;
  files: LayerFiles;
  mounts: LayerMounts;
  temp: TempArea;
  /** Held while layers and manifests come and go together. */
  changing: Semaphore;
  now(): Date;
};

/** An image of one layer to be made, and what that is made of. */
export type ImagePlan = {
  name: string;
  source: Source;
  config: ImageConfig;
};

/** Makes images: one at a time of each name, a few at a time in all, and all or nothing. */
export class ImageMaker {
  readonly #parts: ImageMakerParts;
  readonly #builds = new Semaphore(LAYER_LIMITS.maxBuilds);
  readonly #making = new Map<string, Promise<unknown>>();

  constructor(parts: ImageMakerParts) {
    this.#parts = parts;
  }

  /**
   * Builds the source's layer and registers the image. Whoever comes second for a name waits, then finds the image there, or makes it
   * after all when the first failed. Nothing is kept on an error.
   * @throws VivError `image_exists`, `invalid_argument` (name), `invalid_image`, `path_escapes`, `import_failed`, `node_disk_full`.
   */
  make(plan: ImagePlan, report: Report, signal: AbortSignal): Promise<Image> {
    return this.makeBy(plan.name, (directory) => this.#build(plan, directory, report, signal), report, signal);
  }

  /**
   * The same for an image that is made in another way. `work` gets a directory of its own, which is removed afterwards. `slots`: how many
   * run at once.
   */
  async makeBy(
    name: string,
    work: (directory: string) => Promise<Image>,
    report: Report,
    signal: AbortSignal,
    slots = this.#builds,
  ): Promise<Image> {
    if (!ImageName.safeParse(name).success) {
      throw new VivError('invalid_argument', `'${name}' is no image name: role/name@version`);
    }
    for (let other = this.#making.get(name); other; other = this.#making.get(name)) {
      report('wait', `another import of ${name} is under way`);
      await settledOrAborted(other, signal, name);
    }
    const making = slots.run(() => this.#begin(name, work));
    this.#making.set(name, making);
    try {
      return await making;
    } catch (thrown) {
      if (signal.aborted) throw canceled(name, thrown);
      throw VivError.from(thrown);
    } finally {
      this.#making.delete(name);
    }
  }

  async #begin(name: string, work: (directory: string) => Promise<Image>): Promise<Image> {
    await this.#refuseExisting(name);
    return this.#parts.temp.use(async (directory) => {
      try {
        return await work(directory);
      } catch (thrown) {
        throw namingFullDisk(thrown, directory);
      }
    });
  }

  async #build(plan: ImagePlan, directory: string, report: Report, signal: AbortSignal): Promise<Image> {
    const file = await buildLayer(plan.source, directory, report, signal);
    report('layer', 'computing its digest');
    return this.#parts.changing.run(() => this.#register(plan, file, signal));
  }

  /** Versions never change; but an image of which a layer is damaged may be made again, as the error about it says. */
  async #refuseExisting(name: string): Promise<void> {
    const { catalog, files } = this.#parts;
    if (!catalog.has(name)) return;
    try {
      for (const { digest } of catalog.get(name).image.layers) await files.ensureGood(digest);
    } catch {
      return;
    }
    throw new VivError('image_exists', `image ${name} exists`, { details: { image: name } });
  }

  async #register(plan: ImagePlan, file: string, signal: AbortSignal): Promise<Image> {
    const { catalog, files, mounts, now } = this.#parts;
    const { name, source, config } = plan;
    const { digest, sizeBytes } = await files.admit(file);
    const createdAt = now().toISOString();
    const layer: LayerRecord = { digest, sizeBytes, createdBy: source.createdBy, createdAt, format: 'erofs' };
    const manifest: Manifest = {
      format: 'vivarium.image/1',
      name,
      layers: [layer],
      config,
      createdAt,
      parent: null,
    };
    try {
      signal.throwIfAborted();
      await catalog.add(manifest);
    } catch (error) {
      if (!catalog.isNeeded(digest) && !mounts.isMounted(digest)) files.remove(digest);
      throw error;
    }
    return catalog.get(name).image;
  }
}

function canceled(name: string, cause: unknown): VivError {
  return new VivError('import_failed', `the making of ${name} was canceled; nothing was kept`, { cause });
}

async function settledOrAborted(work: Promise<unknown>, signal: AbortSignal, name: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = () => resolve();
  signal.addEventListener('abort', wake, { once: true });
  if (signal.aborted) wake();
  work.then(wake, wake);
  await promise;
  signal.removeEventListener('abort', wake);
  if (signal.aborted) throw canceled(name, signal.reason);
}
