import { decodeCursor, pageOf } from '@vivarium/core';
import { stackedRecipe } from '@vivarium/layers/recipes/stacked.ts';
import { type Image, ImageConfig, type ImageImport, type Progress, VivError } from '@vivarium/protocol';
import type { BuildService, ImageService, PageOf, PageRequest } from '../edge.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { stackedImport } from './stacked-import.ts';

/** The node's images, as the API sees them. */
export class Images implements ImageService {
  readonly #context: EdgeContext;
  readonly #builds: BuildService;

  constructor(context: EdgeContext, builds: BuildService) {
    this.#context = context;
    this.#builds = builds;
  }

  list(page: PageRequest & { all?: boolean }): PageOf<Image> {
    const after = page.cursor === undefined ? '' : decodeCursor(page.cursor);
    const images = this.#context.images.list({ all: page.all ?? false }).filter(({ name }) => name > after);
    images.sort((a, b) => (a.name < b.name ? -1 : 1));
    return pageOf(images.slice(0, page.limit + 1), page.limit, ({ name }) => name);
  }

  get(name: string): Image {
    return this.#context.images.get(name);
  }

  async remove(name: string): Promise<void> {
    await this.#context.releaseImage(name);
    for (const box of this.#context.boxes.values()) {
      if (
        box.row.image === name ||
        box.row.overlay?.includes(name) ||
        box.row.mounts?.some(({ image }) => image === name)
      )
        throw new VivError('image_in_use', `image ${name} is used by sandbox ${box.id}`, {
          details: { image: name, sandbox: box.id },
        });
    }
    await this.#context.images.remove(name);
  }

  import(request: ImageImport, signal: AbortSignal): AsyncIterable<Progress> {
    this.#checkDraining();
    const recipe = request.source.type === 'builtin' ? stackedRecipe(request.source.name) : undefined;
    if (recipe) return stackedImport(this.#context, this.#builds, recipe, request, signal);
    return this.#context.images.import(request, signal);
  }

  importTar(
    request: { name: string; config: unknown; opaque?: readonly string[] },
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncIterable<Progress> {
    this.#checkDraining();
    const { name, opaque = [] } = request;
    return this.#context.images.importTar({ name, config: configOf(request.config), opaque }, body, signal);
  }

  importOci(
    request: { name: string; ref?: string | undefined; config: unknown },
    body: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): AsyncIterable<Progress> {
    this.#checkDraining();
    return this.#context.images.importOci({ ...request, config: configOf(request.config) }, body, signal);
  }

  #checkDraining(): void {
    if (this.#context.draining) throw new VivError('shutting_down', 'the node is stopping and imports no images');
  }
}

function configOf(given: unknown): Partial<ImageConfig> {
  const config = ImageConfig.partial().safeParse(given ?? {});
  if (config.success) return config.data;
  throw new VivError('invalid_argument', `the image's config is not valid: ${config.error.issues[0]?.message}`, {
    details: { field: 'config' },
  });
}
