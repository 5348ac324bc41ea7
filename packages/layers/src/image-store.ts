import { join } from 'node:path';
import {
  type Image,
  ImageConfig,
  type ImageImport,
  ociImageName,
  type PackReport,
  type Progress,
  parseOciRef,
  VivError,
} from '@vivarium/protocol';
import type { Source } from './builder.ts';
import { Catalog } from './catalog.ts';
import { Committer } from './committer.ts';
import { ImageMaker } from './image-maker.ts';
import { archiveSource } from './importers/archive.ts';
import { builtinSource } from './importers/builtin.ts';
import { bootstrapSource } from './importers/debootstrap.ts';
import { LayerFiles } from './layer-files.ts';
import { LayerMounts, type Mounter } from './layer-mounts.ts';
import { OciImporter } from './oci/oci-importer.ts';
import { registryImage } from './oci/registry.ts';
import { uploadedImage } from './oci/upload.ts';
import { withProgress } from './progress.ts';
import { Registrar } from './registrar.ts';
import { Semaphore } from './semaphore.ts';
import { openSigningKey } from './signing-key.ts';
import type { CommitRequest, DeriveRequest, ImageStore } from './store.ts';
import { TempArea } from './temp-area.ts';

export type ImageStoreOptions = {
  stateDir: string;
  runDir: string;
  mounter: Mounter;
  /** Does a sandbox of this node use the layer? Asked before it is removed. */
  inUse(digest: string): boolean;
  log(level: 'info' | 'warn', message: string, fields?: Record<string, unknown>): void;
  /** Where packages come from instead of the host's own mirror or mmdebstrap's default. */
  debianMirror?: string;
  now?(): Date;
};

/**
 * Opens the node's images: `layers/`, `images/`, `keys/` and `tmp/` below the state directory, mounts below the run directory. For one
 * process at a time. Leftovers of a crash (half-made trees, layers without an image) are removed first.
 */
export async function openImageStore(options: ImageStoreOptions): Promise<ImageStore> {
  const store = new DirectoryImageStore(options);
  await store.recover();
  return store;
}

/** Names of images that are steps of builds. */
const CACHE_PREFIX = 'cache/';

class DirectoryImageStore implements ImageStore {
  readonly #options: ImageStoreOptions;
  readonly #catalog: Catalog;
  readonly #files: LayerFiles;
  readonly #mounts: LayerMounts;
  readonly #temp: TempArea;
  readonly #maker: ImageMaker;
  readonly #oci: OciImporter;
  readonly #registrar: Registrar;
  readonly #committer: Committer;
  /** Held while layers and manifests come and go together, so that a removal can't take a layer that is just being reused. */
  readonly #changing = new Semaphore(1);
  /** How many acquired each name and did not release it yet. */
  readonly #users = new Map<string, number>();

  constructor(options: ImageStoreOptions) {
    const { stateDir, runDir, mounter, now = () => new Date() } = options;
    this.#options = options;
    this.#temp = new TempArea(join(stateDir, 'tmp'));
    this.#catalog = new Catalog(join(stateDir, 'images'), openSigningKey(join(stateDir, 'keys', 'images.pem')));
    this.#files = new LayerFiles(join(stateDir, 'layers'));
    this.#mounts = new LayerMounts(join(runDir, 'layers'), this.#files, mounter);
    this.#registrar = new Registrar(this.#catalog, now);
    this.#committer = new Committer({
      catalog: this.#catalog,
      files: this.#files,
      mounts: this.#mounts,
      temp: this.#temp,
      registrar: this.#registrar,
      changing: this.#changing,
    });
    this.#maker = new ImageMaker({
      catalog: this.#catalog,
      files: this.#files,
      mounts: this.#mounts,
      temp: this.#temp,
      changing: this.#changing,
      now,
    });
    this.#oci = new OciImporter({
      maker: this.#maker,
      catalog: this.#catalog,
      files: this.#files,
      mounts: this.#mounts,
      changing: this.#changing,
      now,
    });
  }

  async recover(): Promise<void> {
    const { log, inUse } = this.#options;
    const swept = await this.#temp.sweep();
    if (swept > 0) log('info', 'removed unfinished image builds', { count: swept });
    for (const [image, reason] of this.#catalog.rejected()) log('warn', 'image refused', { image, reason });
    // Layers of a manifest that can't be read are unknown: keep everything until it is removed.
    if (this.#catalog.rejected().size > 0) return;
    for (const digest of this.#files.list()) {
      if (this.#catalog.isNeeded(digest) || this.#mounts.isMounted(digest) || inUse(digest)) continue;
      this.#files.remove(digest);
      log('info', 'removed a layer that no image needs', { layer: digest });
    }
  }

  list({ all = false }: { all?: boolean } = {}): Image[] {
    const images = this.#catalog.list();
    return all ? images : images.filter(({ name }) => !name.startsWith(CACHE_PREFIX));
  }

  get(name: string): Image {
    return this.#catalog.get(name).image;
  }

  has(name: string): boolean {
    return this.#catalog.has(name);
  }

  async remove(name: string): Promise<void> {
    await this.#changing.run(async () => {
      if (this.#catalog.rejected().has(name)) return this.#catalog.remove(name);
      const { image } = this.#catalog.get(name);
      const orphans = image.layers
        .map(({ digest }) => digest)
        .filter((digest) => !this.#catalog.isNeeded(digest, name));
      const used = orphans.find((digest) => this.#options.inUse(digest) || this.#mounts.references(digest) > 0);
      if (used !== undefined || this.#users.has(name)) {
        throw new VivError('image_in_use', `image ${name} is in use by a sandbox`, {
          details: { image: name, layer: used },
        });
      }
      await this.#catalog.remove(name);
      for (const digest of orphans) if (await this.#mounts.drop(digest)) this.#files.remove(digest);
    });
  }

  import(request: ImageImport, signal: AbortSignal): AsyncIterable<Progress> {
    const { name, source } = request;
    const { debianMirror: mirror } = this.#options;
    if (source.type === 'builtin') {
      if (source.name === 'e2b-code-interpreter')
        throw new VivError('unsupported', `${source.name} is made by a build`);
      const { source: recipe, config } = builtinSource(source.name, mirror);
      const merged = { ...config, ...request.config, env: { ...config.env, ...request.config.env } };
      return this.#importFrom(name, recipe, merged, signal);
    }
    if (source.type === 'registry') {
      const oci = registryImage(source.ref, this.#options.stateDir);
      return withProgress(signal, (report, abort) =>
        this.#oci.import({ name, config: request.config, source: oci }, report, abort),
      );
    }
    const { suite, variant, include } = source;
    const bootstrap = bootstrapSource(
      { suite, variant, include, ...(mirror !== undefined && { mirror }) },
      `debootstrap:${suite}`,
    );
    return this.#importFrom(name, bootstrap, request.config, signal);
  }

  importTar(
    request: { name: string; config: Partial<ImageConfig>; opaque?: readonly string[] },
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncIterable<Progress> {
    return this.#importFrom(request.name, archiveSource(body, request.opaque), request.config, signal);
  }

  importOci(
    { name, ref, config }: { name: string; ref?: string | undefined; config: Partial<ImageConfig> },
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncIterable<Progress> {
    return withProgress(signal, (report, abort) =>
      this.#oci.import({ name, ref, config, source: uploadedImage(body) }, report, abort),
    );
  }

  async pull(reference: string, signal: AbortSignal): Promise<Image> {
    const ref = parseOciRef(reference);
    const name = ref && ociImageName(ref);
    if (!name) throw new VivError('invalid_argument', `'${reference}' is no OCI reference: HOST/PATH:TAG`);
    if (this.#catalog.has(name)) return this.#catalog.get(name).image;
    const plan = { name, config: {}, source: registryImage(reference, this.#options.stateDir) };
    try {
      return await this.#oci.import(plan, () => {}, signal);
    } catch (thrown) {
      if (VivError.from(thrown).code !== 'image_exists') throw thrown;
      return this.#catalog.get(name).image;
    }
  }

  async commit(request: CommitRequest): Promise<PackReport> {
    const releases = [request.parent, ...(request.overlay ?? [])].map((name) =>
      this.#hold(this.#catalog.get(name).image),
    );
    try {
      return await this.#committer.commit(request);
    } finally {
      for (const release of releases) release();
    }
  }

  derive(request: DeriveRequest): Promise<Image> {
    const parent = this.#catalog.get(request.parent);
    const config = { ...request.config, labels: { ...request.config.labels, ...request.labels } };
    const { layers } = parent.manifest;
    const lineage = { kind: request.kind ?? 'derive', sandbox: null, key: request.key ?? null };
    const plan = { name: request.name, config, layers, parent: parent.image, lineage };
    return this.#changing.run(async () => this.#registrar.register(plan));
  }

  async acquire(name: string): Promise<{ image: Image; layers: { digest: string; path: string }[]; release(): void }> {
    const { image } = this.#catalog.get(name);
    const digests = image.layers.map(({ digest }) => digest);
    return { image, ...(await this.#mounted(digests, this.#hold(image))) };
  }

  async acquireLayers(
    digests: readonly string[],
  ): Promise<{ layers: { digest: string; path: string }[]; release(): void }> {
    return this.#mounted(digests, this.#mounts.hold(digests));
  }

  reacquire(digests: string[]): { release(): void } {
    return { release: this.#mounts.hold(digests) };
  }

  async verify(digest: string): Promise<void> {
    await this.#files.verify(digest);
  }

  async close(): Promise<void> {
    this.#committer.close();
    await this.#changing.run(() => this.#mounts.dropUnused(this.#options.inUse));
    await this.#files.close();
  }

  #importFrom(
    name: string,
    source: Source,
    config: Partial<ImageConfig>,
    signal: AbortSignal,
  ): AsyncIterable<Progress> {
    return withProgress(signal, async (report, abort) => {
      const parsed = ImageConfig.safeParse(config);
      if (!parsed.success)
        throw new VivError('invalid_argument', `config: ${parsed.error.issues[0]?.message}`, {
          details: { issues: parsed.error.issues },
        });
      return this.#maker.make({ name, source, config: parsed.data }, report, abort);
    });
  }

  /** Layers that are held, mounted; when that fails they are given back. */
  async #mounted(digests: readonly string[], release: () => void) {
    try {
      await this.#mounts.ensure(digests);
      return { layers: digests.map((digest) => ({ digest, path: this.#mounts.path(digest) })), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Counts one user of the image: neither its name nor its layers can be removed meanwhile. */
  #hold(image: Image): () => void {
    const releaseLayers = this.#mounts.hold(image.layers.map(({ digest }) => digest));
    this.#users.set(image.name, (this.#users.get(image.name) ?? 0) + 1);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      releaseLayers();
      const users = this.#users.get(image.name)! - 1;
      if (users > 0) this.#users.set(image.name, users);
      else this.#users.delete(image.name);
    };
  }
}
