import { Sub } from '@vivarium/protocol/mux-frame.ts';
import { Connection } from './connection.ts';
import type { Context } from './context.ts';
import { Subscription } from './subscription.ts';

export type ListenTarget = number | { unixPath: string };

/** A listener inside a sandbox whose connections come out here. */
export class PortListener implements AsyncIterable<Connection>, AsyncDisposable {
  /** Where it listens; known once `ready` has resolved. */
  port = 0;
  readonly ready: Promise<void>;
  readonly #connections: Subscription<Connection>;

  constructor(context: Context, sandbox: string, target: ListenTarget, signal: AbortSignal | undefined) {
    const where = typeof target === 'number' ? { port: target } : target;
    const port = () => (typeof target === 'number' && this.port !== 0 ? { port: this.port } : where);
    let listening: () => void = () => {};
    const armed = new Promise<void>((resolve) => {
      listening = resolve;
    });
    this.#connections = new Subscription<Connection>(context, {
      open: { op: 'port.listen', sandbox, ...where },
      reopen: () => ({ op: 'port.listen', sandbox, ...port() }),
      pick: (event) => {
        if (event.type === 'listening') {
          this.port = (event.port as number | undefined) ?? 0;
          listening();
        }
        if (event.type !== 'connection') return undefined;
        // From the sandbox to this side is "down" (1), from here into it "up" (0), as with connect.
        return new Connection(context.mux.adopt(event.conn as number, { inlets: [Sub.out], outlet: true }), Sub.out);
      },
      signal,
    });
    this.ready = Promise.race([armed, this.#connections.ready.then(() => armed)]);
  }

  [Symbol.asyncIterator](): AsyncIterator<Connection> {
    return this.#connections;
  }

  async close(): Promise<void> {
    await this.#connections.return();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
