import type { NodeInfo } from '@vivarium/protocol/node.ts';
import type { Sandbox as SandboxInfo } from '@vivarium/protocol/sandbox.ts';
import { resolveConfig, type VivariumOptions } from './config.ts';
import type { Context } from './context.ts';
import { type EventFilter, events } from './events.ts';
import { Fn } from './fn.ts';
import { Http } from './http.ts';
import { Images } from './images.ts';
import { Keys } from './keys.ts';
import type { Lease, LeaseOptions } from './lease.ts';
import { Leases } from './leases.ts';
import { Mux } from './mux.ts';
import { collect } from './page.ts';
import type { Sandbox } from './sandbox.ts';
import { Sandboxes } from './sandboxes.ts';
import type { Subscription } from './subscription.ts';
import { Templates } from './templates.ts';
import type { RegradeRequest, Verification } from './verify/request.ts';
import { regrade } from './verify/verify.ts';
import { Volumes } from './volumes.ts';

/**
 * A client of one Vivarium server. Short calls go over HTTP; everything that streams, of thousands of sandboxes, shares
 * one WebSocket that opens when needed and comes back by itself. Make one per process.
 *
 * ```ts
 * const viv = new Vivarium();
 * await using sandbox = await viv.sandboxes.create({ image: 'base/debian@12' });
 * const { stdout } = await sandbox.exec('echo hello');
 * ```
 */
export class Vivarium implements AsyncDisposable {
  readonly sandboxes: Sandboxes;
  readonly fn: Fn;
  readonly images: Images;
  readonly volumes: Volumes;
  readonly templates: Templates;
  readonly leases: Leases;
  readonly keys: Keys;
  readonly #context: Context;

  constructor(options: VivariumOptions = {}) {
    const config = resolveConfig(options);
    this.#context = { config, http: new Http(config), mux: new Mux(config) };
    this.sandboxes = new Sandboxes(this.#context);
    this.fn = new Fn(this.#context);
    this.images = new Images(this.#context);
    this.volumes = new Volumes(this.#context);
    this.templates = new Templates(this.#context, this.images);
    this.leases = new Leases(this.#context);
    this.keys = new Keys(this.#context);
  }

  get url(): string {
    return this.#context.config.url;
  }

  /** A new lease, held until this client closes or its process dies. Give its sandboxes a label to find them again. */
  lease(label?: string, options: LeaseOptions = {}): Promise<Lease> {
    return this.leases.create(label, options);
  }

  /** Takes back all of a job's sandboxes after a crash or from elsewhere. */
  async attach(label: string): Promise<{ lease: Lease; sandboxes: Sandbox[] }> {
    const lease = await this.leases.attach(label);
    return { lease, sandboxes: await collect(this.sandboxes.list({ lease })) };
  }

  /** Lifecycle changes of all sandboxes, or of those that the filter names. */
  events(filter: EventFilter = {}): Subscription<SandboxInfo> {
    return events(this.#context, filter);
  }

  /** Grades a state that an earlier verification kept (`keepSplit`), with the same or another grader. No agent runs. */
  verify(request: RegradeRequest): Promise<Verification> {
    return regrade({ images: this.images, create: (options) => this.sandboxes.create(options) }, request);
  }

  node(): Promise<NodeInfo> {
    return this.#context.http.json('GET', '/v1/node');
  }

  usage(): Promise<Record<string, unknown>> {
    return this.#context.http.json('GET', '/v1/usage');
  }

  /** Closes the connection. Sandboxes and commands run on, except those of leases whose grace time ends. */
  close(): void {
    this.#context.mux.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}
