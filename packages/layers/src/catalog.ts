import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Image, VivError } from '@vivarium/protocol';
import { syncDirectory, writeFilesAtomic } from './atomic-file.ts';
import {
  type LayerRecord,
  type Manifest,
  manifestFileName,
  sealManifest,
  toImage,
  unsealManifest,
} from './manifest.ts';
import type { SigningKey } from './signing-key.ts';

/** A manifest, and the same as the API shows it (its digest is not computed again on every create). */
export type CatalogEntry = { manifest: Manifest; image: Image };

/** The images a node knows by name: one signed manifest file each, all of them in memory. */
export class Catalog {
  readonly #directory: string;
  readonly #key: SigningKey;
  readonly #entries = new Map<string, CatalogEntry>();
  readonly #rejected = new Map<string, string>();

  constructor(directory: string, key: SigningKey) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.#directory = directory;
    this.#key = key;
    for (const file of readdirSync(directory)) this.#load(file);
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** Sorted by name. */
  list(): Image[] {
    return [...this.#entries.values()].map(({ image }) => image).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Names whose manifest is unsigned, tampered with or unreadable, with the reason. */
  rejected(): ReadonlyMap<string, string> {
    return this.#rejected;
  }

  /** Throws `image_not_found` (naming what there is), `image_corrupt` for a manifest we did not sign. */
  get(name: string): CatalogEntry {
    const entry = this.#entries.get(name);
    if (entry) return entry;
    const reason = this.#rejected.get(name);
    if (reason !== undefined)
      throw new VivError('image_corrupt', `image ${name} is refused: ${reason}`, { details: { image: name } });
    // Names with a digest in them are given by programs (builds, tasks, trials): nobody means to write those.
    const known = [...this.#entries.keys()].filter((key) => !/^cache\/|[0-9a-f]{16}/.test(key)).sort();
    const there =
      known.length === 0
        ? 'there is no image yet'
        : `there is ${known.slice(0, 20).join(', ')}${known.length > 20 ? ', …' : ''}`;
    throw new VivError('image_not_found', `no image ${name}; ${there}`, {
      details: { image: name, known: known.slice(0, 100) },
    });
  }

  /** Writes the signed manifests, then knows the images. A rejected manifest of such a name is replaced. */
  async add(...manifests: Manifest[]): Promise<void> {
    await writeFilesAtomic(
      manifests.map((manifest) => ({
        path: join(this.#directory, manifestFileName(manifest.name)),
        contents: sealManifest(manifest, this.#key),
      })),
    );
    for (const manifest of manifests) {
      this.#rejected.delete(manifest.name);
      this.#put(manifest);
    }
  }

  async remove(name: string): Promise<void> {
    this.#entries.delete(name);
    this.#rejected.delete(name);
    rmSync(join(this.#directory, manifestFileName(name)), { force: true });
    await syncDirectory(this.#directory);
  }

  /** A layer as some image describes it. */
  layer(digest: string): LayerRecord | undefined {
    return this.findLayer((each) => each.digest === digest);
  }

  /** A layer that some image has and that fits. */
  findLayer(fits: (layer: LayerRecord) => boolean): LayerRecord | undefined {
    for (const { manifest } of this.#entries.values()) {
      const layer = manifest.layers.find(fits);
      if (layer) return layer;
    }
    return undefined;
  }

  /** Does any image but the one named need the layer? */
  isNeeded(digest: string, except?: string): boolean {
    for (const {
      image: { name, layers },
    } of this.#entries.values()) {
      if (name !== except && layers.some((layer) => layer.digest === digest)) return true;
    }
    return false;
  }

  #put(manifest: Manifest): void {
    this.#entries.set(manifest.name, { manifest, image: toImage(manifest) });
  }

  #load(file: string): void {
    const path = join(this.#directory, file);
    if (file.endsWith('.json.new')) rmSync(path);
    if (!file.endsWith('.json')) return;
    const name = imageName(file);
    try {
      const manifest = unsealManifest(readFileSync(path, 'utf8'), this.#key);
      if (manifest.name !== name) throw new Error(`it is the manifest of ${manifest.name}`);
      this.#put(manifest);
    } catch (cause) {
      this.#rejected.set(name, (cause as Error).message.slice(0, 500));
    }
  }
}

function imageName(file: string): string {
  try {
    return decodeURIComponent(file.slice(0, -'.json'.length));
  } catch {
    return file;
  }
}
