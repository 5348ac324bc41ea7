import { BUILTIN_TEMPLATES, type BuiltinTemplate, isBuiltinTemplate } from '@vivarium/protocol/builtin-templates.ts';
import type { Image } from '@vivarium/protocol/image.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import type { Context } from './context.ts';
import type { Images, ImportOptions } from './images.ts';

/** A template as E2B clients see it: what was built under a name. */
export type Template = {
  templateID: string;
  names: string[];
  public: boolean;
  /** The newest that is ready, else the newest. */
  buildID: string;
  buildStatus: 'waiting' | 'building' | 'ready' | 'error';
  buildCount: number;
  cpuCount: number;
  memoryMB: number;
  createdAt: string;
  updatedAt: string;
  spawnCount: number;
};
/** One that comes with the node; `image` is null where it was not made yet. */
export type InstalledTemplate = { name: BuiltinTemplate; image: Image | null };

const PAGE = 100;
const at = (template: string) => `/templates/${encodeURIComponent(template)}`;

/** What E2B clients make sandboxes from. They build templates themselves; this makes those that come with the node, and looks after all. */
export class Templates {
  readonly #context: Context;
  readonly #images: Images;

  constructor(context: Context, images: Images) {
    this.#context = context;
    this.#images = images;
  }

  /** Makes the image of `base` or `code-interpreter-v1`, unless it is there: a minute or two, once per node. */
  async install(name: string, options: ImportOptions = {}): Promise<Image> {
    if (!isBuiltinTemplate(name))
      throw new VivError(
        'invalid_argument',
        `no template ${name} comes with viv; there is ${Object.keys(BUILTIN_TEMPLATES).join(', ')}`,
      );
    const { image, builtin } = BUILTIN_TEMPLATES[name];
    const known = await this.#image(image);
    if (known) return known;
    try {
      return await this.#images.import({ name: image, source: { type: 'builtin', name: builtin } }, options);
    } catch (error) {
      if (error instanceof VivError && error.code === 'image_exists') return this.#images.get(image);
      throw error;
    }
  }

  /** Those that come with the node, and whether they are installed. */
  async builtins(): Promise<InstalledTemplate[]> {
    const names = Object.keys(BUILTIN_TEMPLATES) as BuiltinTemplate[];
    return Promise.all(
      names.map(async (name) => ({ name, image: (await this.#image(BUILTIN_TEMPLATES[name].image)) ?? null })),
    );
  }

  /** This key's own, the newest first. */
  async *list(): AsyncGenerator<Template> {
    for (let nextToken: string | undefined; ; ) {
      const response = await this.#context.http.stream('GET', '/v2/templates', { query: { limit: PAGE, nextToken } });
      yield* (await response.json()) as Template[];
      nextToken = response.headers.get('x-next-token') ?? undefined;
      if (nextToken === undefined) return;
    }
  }

  /** With its builds, the newest 100; `template` is its name or its id. Throws `image_not_found`. */
  get(template: string): Promise<Record<string, unknown>> {
    return this.#context.http.json('GET', at(template));
  }

  /** With its builds. What runs from it runs on. Throws `image_not_found`, and `forbidden` for another key's public one. */
  async remove(template: string): Promise<void> {
    await this.#context.http.json('DELETE', at(template));
  }

  async #image(name: string): Promise<Image | undefined> {
    try {
      return await this.#images.get(name);
    } catch (error) {
      if (error instanceof VivError && error.code === 'image_not_found') return undefined;
      throw error;
    }
  }
}
