import { Sub } from '@vivarium/protocol/mux-frame.ts';
import { Connection } from './connection.ts';
import type { Context } from './context.ts';
import { type ListenTarget, PortListener } from './port-listener.ts';

/** Ports inside a sandbox, reached through the server: they need no network in the sandbox. */
export class Ports {
  readonly #context: Context;
  readonly #sandbox: string;
  readonly #token: () => string | undefined;

  constructor(context: Context, sandbox: string, token: () => string | undefined) {
    this.#context = context;
    this.#sandbox = sandbox;
    this.#token = token;
  }

  /** An address to give to others: it carries the sandbox's token, so it opens this sandbox's ports and nothing else. `protocol: 'ws'` for WebSockets. */
  url(port: number, path = '/', options: { protocol?: 'http' | 'ws'; token?: boolean } = {}): string {
    const url = new URL(
      `${this.#context.config.url}/v1/sandboxes/${this.#sandbox}/ports/${port}/${path.replace(/^\//, '')}`,
    );
    const token = options.token === false ? undefined : this.#token();
    if (token !== undefined) url.searchParams.set('viv_token', token);
    return options.protocol === 'ws' ? url.href.replace(/^http/, 'ws') : url.href;
  }

  /** fetch to an HTTP server inside. Whatever it answers is returned, also errors. */
  fetch(port: number, path = '/', init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    const token = this.#token();
    // The token keeps an Authorization header of the caller's own for the server inside.
    if (token !== undefined) headers.set('x-viv-token', token);
    else for (const [name, value] of Object.entries(this.#context.http.authorization())) headers.set(name, value);
    return this.#context.config.fetch(this.url(port, path, { token: false }), { ...init, headers });
  }

  /** Raw TCP to 127.0.0.1:port inside, or to a unix socket. `port_closed` when nothing listens. */
  async connect(target: number | { unixPath: string }, options: { signal?: AbortSignal } = {}): Promise<Connection> {
    options.signal?.throwIfAborted();
    const where = typeof target === 'number' ? { port: target } : target;
    const channel = this.#context.mux.open({
      open: { op: 'port.connect', sandbox: this.#sandbox, ...where },
      inlets: [Sub.out],
      outlet: true,
    });
    const onAbort = () => channel.close();
    options.signal?.addEventListener('abort', onAbort, { once: true });
    channel.closed.catch(() => {}).finally(() => options.signal?.removeEventListener('abort', onAbort));
    await channel.opened;
    return new Connection(channel, Sub.out);
  }

  /** Listens inside (port 0: any free one); iterate the listener for its connections. */
  async listen(target: ListenTarget, options: { signal?: AbortSignal } = {}): Promise<PortListener> {
    const listener = new PortListener(this.#context, this.#sandbox, target, options.signal);
    await listener.ready;
    return listener;
  }
}
