import type { CommitRequest, ImageStore } from '@vivarium/layers/store.ts';
import { type Image, type ImageConfig, type PackReport, VivError } from '@vivarium/protocol';

/** One image, `base/test@1`, and counts of what is held of it. */
export class FakeImages implements ImageStore {
  held = 0;
  /** What `acquire` gives. */
  layers: { digest: string; path: string }[];

  /** Real layer mounts, for tests with a real driver. */
  constructor(layers = [{ digest: `sha256:${'1'.repeat(64)}`, path: '/layer' }]) {
    this.layers = layers;
  }

  readonly image: Image = {
    name: 'base/test@1',
    digest: `sha256:${'0'.repeat(64)}`,
    layers: [
      { digest: `sha256:${'1'.repeat(64)}`, sizeBytes: 1, createdBy: 'test', createdAt: '2026-01-01T00:00:00.000Z' },
    ],
    config: { env: { FROM_IMAGE: '1' }, labels: {} },
    sizeBytes: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
    parent: null,
  };

  list(): Image[] {
    return [this.image];
  }

  get(name: string): Image {
    if (name === this.image.name) return this.image;
    throw new VivError('image_not_found', `there is no image ${name}`);
  }

  has(name: string): boolean {
    return name === this.image.name;
  }

  async remove(): Promise<void> {}

  async *import(): AsyncGenerator<never> {}

  async *importTar(): AsyncGenerator<never> {}

  async *importOci(): AsyncGenerator<never> {}

  async pull(reference: string): Promise<Image> {
    throw new VivError('import_failed', `there is no registry for ${reference}`);
  }

  async commit({ name, pack }: CommitRequest): Promise<PackReport> {
    const image = { ...this.image, name };
    return {
      image,
      layer: null,
      changed: { added: 0, changed: 0, deleted: 0, bytes: 0 },
      removed: [],
      excluded: [],
      suspicious: [],
      split: pack?.split ? { image: { ...image, name: pack.split.image }, leftOut: [], leftOutEntries: 0 } : null,
    };
  }

  async derive({ name, config }: { name: string; config: ImageConfig }): Promise<Image> {
    return { ...this.image, name, config };
  }

  async acquire(name: string) {
    const image = this.get(name);
    return { image, layers: this.layers, ...this.reacquire() };
  }

  async acquireLayers() {
    return { layers: this.layers, ...this.reacquire() };
  }

  reacquire() {
    this.held += 1;
    let held = true;
    return {
      release: () => {
        if (held) this.held -= 1;
        held = false;
      },
    };
  }

  async verify(): Promise<void> {}

  async close(): Promise<void> {}
}
