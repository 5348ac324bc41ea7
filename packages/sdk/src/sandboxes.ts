import type { SandboxCreateInput, Sandbox as SandboxInfo, SandboxState } from '@vivarium/protocol/sandbox.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import type { Context } from './context.ts';
import { defined } from './exec-options.ts';
import { BASE_IMAGE, Images, type ImportProgress } from './images.ts';
import { pages } from './page.ts';
import { idempotencyKey } from './retry.ts';
import { Sandbox } from './sandbox.ts';

export type CreateOptions = Omit<SandboxCreateInput, 'lease'> & {
  /** The lease that owns it: an id or what `viv.lease()` returned. */
  lease?: string | { readonly id: string };
};
export type RequestControl = {
  /** Names this attempt: the same key returns the first result. Default: a random one per call. */
  idempotencyKey?: string;
  signal?: AbortSignal;
  /** Told how the base image is made, should this be its first use on the node. */
  onProgress?: (progress: ImportProgress) => void;
};
export type ListFilter = {
  labels?: Record<string, string>;
  states?: SandboxState | SandboxState[];
  lease?: string | { readonly id: string };
};

/** A create may wait for room and for layers. */
const CREATE_TIMEOUT_MS = 600_000;

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

  /** Newest first or as the server sorts; pages are fetched while you iterate. */
  async *list(filter: ListFilter = {}): AsyncGenerator<Sandbox> {
    const query = {
      ...(filter.labels && { label: Object.entries(filter.labels).map(([name, value]) => `${name}=${value}`) }),
      ...(filter.states && { state: [filter.states].flat().join(',') }),
      ...defined({ lease: filter.lease && idOf(filter.lease) }),
      limit: 1000,
    };
    for await (const info of pages<SandboxInfo>(this.#context.http, '/v1/sandboxes', query))
      yield new Sandbox(this.#context, info.id, info);
  }

  async #create(options: CreateOptions, control: RequestControl): Promise<Sandbox> {
    const json = { ...options, ...(options.lease !== undefined && { lease: idOf(options.lease) }) };
    const info = await this.#context.http.json<SandboxInfo>('POST', '/v1/sandboxes', {
      json,
      idempotencyKey: control.idempotencyKey ?? idempotencyKey(),
      signal: control.signal,
      timeoutMs: CREATE_TIMEOUT_MS,
    });
    return new Sandbox(this.#context, info.id, info);
  }
}

function idOf(lease: string | { readonly id: string }): string {
  return typeof lease === 'string' ? lease : lease.id;
}
