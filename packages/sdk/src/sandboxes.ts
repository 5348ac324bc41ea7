import type { Kind, Sandbox as SandboxInfo, SandboxState } from '@vivarium/protocol/sandbox.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import type { Context } from './context.ts';
import { type CreateOptions, createSandbox, idOf, type RequestControl } from './create-sandbox.ts';
import { defined } from './exec-options.ts';
import { BASE_IMAGE, Images } from './images.ts';
import { pages } from './page.ts';
import { Sandbox } from './sandbox.ts';

export type ListFilter = {
  labels?: Record<string, string>;
  states?: SandboxState | SandboxState[];
  lease?: string | { readonly id: string };
  /** All must match. */
  metadata?: Record<string, string>;
  /** One must match. */
  images?: string | string[];
  /** One must match. Default: all but `fn`, whose containers are in `viv.fn.pools()`. */
  kinds?: Kind | Kind[];
  /** Began to run after this time. */
  startedAfter?: Date;
  /** Of their creation. Default `desc`: newest first. */
  order?: 'asc' | 'desc';
};

/** All sandboxes: creates, finds and lists them. */
export class Sandboxes {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /**
   * Resolves when the sandbox runs. Happens at most once, also when the answer got lost and the call was repeated. The first
   * use of the base image on a node makes that image, which takes about a minute.
   */
  async create(options: CreateOptions, control: RequestControl = {}): Promise<Sandbox> {
    try {
      return await this.#create(options, control);
    } catch (error) {
      if (!(error instanceof VivError && error.code === 'image_not_found' && options.image === BASE_IMAGE)) throw error;
      const { signal, onProgress } = control;
      await new Images(this.#context).ensureBase({ ...defined({ signal, onProgress }) });
      return this.#create(options, control);
    }
  }

  async get(id: string): Promise<Sandbox> {
    return this.ref(id).refresh();
  }

  /** A handle without asking the server whether it exists. */
  ref(id: string): Sandbox {
    return new Sandbox(this.#context, id);
  }

  /** Newest first unless `order` says otherwise; pages are fetched while you iterate, none is skipped or comes twice meanwhile. */
  async *list(filter: ListFilter = {}): AsyncGenerator<Sandbox> {
    const query = {
      ...(filter.labels && { label: Object.entries(filter.labels).map(([name, value]) => `${name}=${value}`) }),
      ...(filter.states && { state: [filter.states].flat().join(',') }),
      ...(filter.metadata && { metadata: new URLSearchParams(filter.metadata).toString() }),
      ...(filter.kinds && { kind: [filter.kinds].flat().join(',') }),
      ...(filter.images && { image: [filter.images].flat() }),
      ...defined({
        lease: filter.lease && idOf(filter.lease),
        startedAfter: filter.startedAfter?.toISOString(),
        order: filter.order,
      }),
      limit: 1000,
    };
    for await (const info of pages<SandboxInfo>(this.#context.http, '/v1/sandboxes', query))
      yield new Sandbox(this.#context, info.id, info);
  }

  async #create(options: CreateOptions, control: RequestControl): Promise<Sandbox> {
    const info = await createSandbox(this.#context, options, control);
    return new Sandbox(this.#context, info.id, info);
  }
}

export type { CreateOptions, RequestControl };
