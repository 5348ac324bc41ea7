import type { Lease as LeaseInfo } from '@vivarium/protocol/lease.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import type { Context } from './context.ts';
import { Lease, type LeaseOptions } from './lease.ts';
import { pages } from './page.ts';

/** All leases: creates, finds and lists them. */
export class Leases {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  list(): AsyncGenerator<LeaseInfo> {
    return pages<LeaseInfo>(this.#context.http, '/v1/leases');
  }

  get(id: string): Promise<LeaseInfo> {
    return this.#context.http.json('GET', `/v1/leases/${id}`);
  }

  /** Ends the lease and what it owns. */
  async end(id: string): Promise<void> {
    await this.#context.http.json('DELETE', `/v1/leases/${id}`);
  }

  async create(label: string | undefined, options: LeaseOptions = {}): Promise<Lease> {
    const json = { ...(label !== undefined && { label }), ...options };
    return Lease.hold(this.#context, await this.#context.http.json<LeaseInfo>('POST', '/v1/leases', { json }));
  }

  /** Holds the live lease of that label again. `lease_not_found` when there is none. */
  async attach(label: string): Promise<Lease> {
    for await (const info of pages<LeaseInfo>(this.#context.http, '/v1/leases', { label })) {
      if (info.state !== 'expired') return Lease.hold(this.#context, info);
    }
    throw new VivError('lease_not_found', `no live lease has the label ${label}`);
  }
}
