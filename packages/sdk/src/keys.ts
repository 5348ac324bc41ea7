import type { Key, Scope } from '@vivarium/protocol/key.ts';
import type { Context } from './context.ts';
import { pages } from './page.ts';

/** API keys; needs a key with the scope `admin`. */
export class Keys {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** The answer holds the secret; it is never shown again. */
  create(request: { name: string; scopes?: Scope[]; maxSandboxes?: number }): Promise<Key> {
    return this.#context.http.json('POST', '/v1/keys', { json: request });
  }

  list(): AsyncGenerator<Key> {
    return pages<Key>(this.#context.http, '/v1/keys');
  }

  async remove(id: string): Promise<void> {
    await this.#context.http.json('DELETE', `/v1/keys/${id}`);
  }
}
