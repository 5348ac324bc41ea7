import type { Lease as LeaseInfo } from '@vivarium/protocol/lease.ts';
import type { Channel } from './channel.ts';
import type { Context } from './context.ts';
import type { Sandbox } from './sandbox.ts';
import { type CreateOptions, type RequestControl, Sandboxes } from './sandboxes.ts';

export type LeaseOptions = {
  /** How long its sandboxes outlive the last holder. Default 60 s. */
  graceS?: number;
  /** What then happens to them. Default kill. */
  onExpire?: 'kill' | 'pause';
};

/**
 * A client's claim on its sandboxes, held while the connection lives. When this process dies the grace time starts; when
 * that is over the sandboxes end (or freeze). `viv.attach(label)` takes them back before.
 */
export class Lease implements AsyncDisposable {
  readonly info: LeaseInfo;
  readonly #context: Context;
  readonly #channel: Channel;

  private constructor(context: Context, info: LeaseInfo) {
    this.#context = context;
    this.info = info;
    const open = { op: 'lease.hold' as const, lease: info.id };
    this.#channel = context.mux.open({ open, reopen: () => open });
  }

  /** Holds an existing lease. */
  static async hold(context: Context, info: LeaseInfo): Promise<Lease> {
    const lease = new Lease(context, info);
    await lease.#channel.opened;
    return lease;
  }

  get id(): string {
    return this.info.id;
  }

  get label(): string | null {
    return this.info.label;
  }

  /** Rejects when the lease is lost (it expired during a long break, or someone ended it); resolves when released. */
  get lost(): Promise<void> {
    return this.#channel.closed;
  }

  /** Creates a sandbox that belongs to this lease. */
  create(options: Omit<CreateOptions, 'lease'>, control?: RequestControl): Promise<Sandbox> {
    return new Sandboxes(this.#context).create({ ...options, lease: this.id }, control);
  }

  sandboxes(): AsyncGenerator<Sandbox> {
    return new Sandboxes(this.#context).list({ lease: this.id });
  }

  /** Lets go: the grace time starts. */
  release(): void {
    this.#channel.close();
  }

  /** Ends the lease and all its sandboxes now. */
  async end(): Promise<void> {
    await this.#context.http.json('DELETE', `/v1/leases/${this.id}`);
    this.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}
