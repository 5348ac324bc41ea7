import { canonicalJson } from '@vivarium/core';
import { type Image, type ImageConfig, ImageName, type Lineage, VivError } from '@vivarium/protocol';
import type { Catalog } from './catalog.ts';
import type { LayerRecord, Manifest } from './manifest.ts';

/** An image all of whose layers are there. */
export type Registration = {
  name: string;
  layers: readonly LayerRecord[];
  config: ImageConfig;
  parent: Image;
  lineage: Omit<Lineage, 'parent'>;
};

/** Gives names to layers that are there. Called while no layer can be removed. */
export class Registrar {
  readonly #catalog: Catalog;
  readonly #now: () => Date;

  constructor(catalog: Catalog, now: () => Date) {
    this.#catalog = catalog;
    this.#now = now;
  }

  now(): string {
    return this.#now().toISOString();
  }

  /**
   * Writes the image down, or returns the one of that name when it has the same layers and config.
   * @throws VivError `invalid_argument` (name), `image_exists`.
   */
  async register(registration: Registration): Promise<Image> {
    return (await this.registerAll([registration]))[0]!;
  }

  /** The same for several names, which are written down together. */
  async registerAll(registrations: readonly Registration[]): Promise<Image[]> {
    const manifests = registrations.map((registration) => this.#manifest(registration)).filter((each) => each !== null);
    if (manifests.length > 0) await this.#catalog.add(...manifests);
    return registrations.map(({ name }) => this.#catalog.get(name).image);
  }

  /** Null: the image is there. */
  #manifest({ name, layers, config, parent, lineage }: Registration): Manifest | null {
    if (!ImageName.safeParse(name).success)
      throw new VivError('invalid_argument', `'${name}' is no image name: role/name@version`);
    const before = this.#existing(name);
    if (before) {
      if (isSame(before, layers, config)) return null;
      throw new VivError('image_exists', `image ${name} exists, with other contents`, { details: { image: name } });
    }
    return {
      format: 'vivarium.image/1',
      name,
      layers: [...layers],
      config,
      createdAt: this.now(),
      parent: parent.name,
      lineage: { ...lineage, parent: { name: parent.name, digest: parent.digest } },
      ...epochOf(this.#catalog, parent),
    };
  }

  #existing(name: string): Image | undefined {
    return this.#catalog.has(name) ? this.#catalog.get(name).image : undefined;
  }
}

/** Images made of another keep its time, so that a chain of the same changes has the same layers whenever it is made. */
function epochOf(catalog: Catalog, parent: Image): { epoch: string } {
  const { epoch, createdAt } = catalog.get(parent.name).manifest;
  return { epoch: epoch ?? createdAt };
}

function isSame(image: Image, layers: readonly LayerRecord[], config: ImageConfig): boolean {
  const digests = (of: readonly { digest: string }[]) => of.map(({ digest }) => digest).join(' ');
  return digests(image.layers) === digests(layers) && canonicalJson(image.config) === canonicalJson(config);
}
