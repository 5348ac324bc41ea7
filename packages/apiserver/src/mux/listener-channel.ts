import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { Wire } from './channel.ts';
import { FeedChannel } from './feed-channel.ts';

export type ListenRequest = { sandbox: string; target: { port: number } | { unixPath: string } };

/** A listener inside a sandbox: each connection that comes out gets a channel of its own, opened by the server. */
export function listenerChannel(wire: Wire, ch: number, { sandbox, target }: ListenRequest): FeedChannel {
  return new FeedChannel(wire, ch, {
    async begin(signal) {
      const { port, connections } = await wire.edge.ports.listen(sandbox, target, signal);
      return { result: { port }, items: announce(wire, ch, port, connections, signal) };
    },
  });
}

async function* announce(
  wire: Wire,
  ch: number,
  port: number,
  connections: AsyncIterable<Duplex>,
  signal: AbortSignal,
) {
  yield { type: 'listening', port };
  for await (const stream of connections) {
    if (signal.aborted) stream.destroy();
    else wire.adopt(ch, stream);
  }
  if (!signal.aborted) await once(signal, 'abort');
}
