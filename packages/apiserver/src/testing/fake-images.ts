import type { ImageService } from '@vivarium/edge/edge.ts';
import {
  type Image,
  type ImageImport,
  type PackReport,
  type PackRequest,
  type Progress,
  VivError,
} from '@vivarium/protocol';

/** One image and those that a test adds, and imports that fail when they are told to by name. */
export class FakeImages implements ImageService {
  lastConfig: unknown;
  readonly more = new Map<string, Image>();
  received = 0;

  list = () => ({ items: [fakeImage('base/debian@12')], nextCursor: null });

  get(name: string): Image {
    const more = this.more.get(name);
    if (more) return more;
    if (name !== 'base/debian@12') throw new VivError('image_not_found', `no image ${name}`);
    return fakeImage(name);
  }

  async remove(name: string): Promise<void> {
    this.get(name);
    throw new VivError('image_in_use', `${name} is in use`);
  }

  async *import(request: ImageImport): AsyncIterable<Progress> {
    if (request.name === 'taken@1') throw new VivError('image_exists', 'taken@1 exists');
    yield { type: 'progress', stage: 'fetch', message: 'fetching' };
    if (request.name === 'broken@1') throw new VivError('import_failed', 'the tool failed');
    yield { type: 'done', image: fakeImage(request.name) };
  }

  importOci(request: { name: string; config: unknown }, body: AsyncIterable<Uint8Array>): AsyncIterable<Progress> {
    return this.importTar(request, body);
  }

  async *importTar(
    request: { name: string; config: unknown },
    body: AsyncIterable<Uint8Array>,
  ): AsyncIterable<Progress> {
    this.lastConfig = request.config;
    for await (const chunk of body) this.received += chunk.length;
    yield { type: 'done', image: fakeImage(request.name) };
  }
}

export function fakeReport({ image, split }: PackRequest): PackReport {
  return {
    image: fakeImage(image),
    layer: null,
    changed: { added: 0, changed: 0, deleted: 0, bytes: 0 },
    removed: [],
    excluded: [],
    suspicious: [],
    split: split ? { image: fakeImage(split.image), leftOut: [], leftOutEntries: 0 } : null,
  };
}

export function fakeImage(name: string): Image {
  return {
    name,
    digest: `sha256:${'0'.repeat(64)}`,
    layers: [],
    config: { env: {}, labels: {} },
    sizeBytes: 1,
    createdAt: '2026-01-01T00:00:00.000Z',
    parent: null,
  };
}
