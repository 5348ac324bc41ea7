import type { Duplex } from 'node:stream';
import { VivError } from '@vivarium/protocol';
import type { CellListener } from '../cell/cell-listener.ts';
import type { PortService, PortStream } from '../edge.ts';
import type { Box } from '../lifecycle/box.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { requireAwake } from '../lifecycle/wake.ts';
import { countTraffic } from './traffic.ts';

type Target = { port: number } | { unixPath: string };

/** Connections that came out of a listener and that nobody has taken yet. */
const WAITING_MAX = 256;

/** TCP and unix connections into sandboxes and out of listeners inside them, over the guest's stream: no network is needed. */
export class Ports implements PortService {
  readonly #context: EdgeContext;

  constructor(context: EdgeContext) {
    this.#context = context;
  }

  async connect(sandbox: string, target: Target): Promise<PortStream> {
    const box = await requireAwake(this.#context, sandbox);
    const cell = box.requireCell();
    const stream =
      'port' in target
        ? await cell.connectTcp(target.port, 'localhost')
        : await cell.connectUnix(Buffer.from(target.unixPath));
    this.#follow(box, stream, { direction: 'in', ...target });
    return stream;
  }

  async listen(
    sandbox: string,
    target: Target,
    signal: AbortSignal,
  ): Promise<{ port: number; connections: AsyncIterable<PortStream> }> {
    const box = await requireAwake(this.#context, sandbox);
    const cell = box.requireCell();
    const tag = Buffer.from('listen');
    const listener =
      'port' in target
        ? await cell.listenTcp(target.port, { tag })
        : await cell.listenUnix(Buffer.from(target.unixPath), { tag });
    const named = 'port' in target ? { port: listener.port } : target;
    box.note('port', { direction: 'listen', ...named });
    return { port: listener.port, connections: this.#connections(box, listener, named, signal) };
  }

  async *#connections(
    box: Box,
    listener: CellListener,
    target: Target,
    signal: AbortSignal,
  ): AsyncGenerator<PortStream> {
    const waiting: Duplex[] = [];
    let ended = false;
    let wake = () => {};
    const stop = () => {
      ended = true;
      wake();
    };
    listener.onConnection((stream) => {
      if (ended || waiting.length >= WAITING_MAX) return void stream.destroy();
      this.#follow(box, stream, { direction: 'out', ...target });
      waiting.push(stream);
      wake();
    });
    signal.addEventListener('abort', stop);
    box.onEnd.push(stop);
    if (signal.aborted) stop();
    try {
      while (!ended) {
        const next = waiting.shift();
        if (next) yield next;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    } finally {
      signal.removeEventListener('abort', stop);
      const at = box.onEnd.indexOf(stop);
      if (at >= 0) box.onEnd.splice(at, 1);
      for (const stream of waiting) stream.destroy();
      listener.close();
    }
  }

  /** Its bytes are traffic; its end is journalled. */
  #follow(box: Box, stream: Duplex, note: Record<string, unknown>): void {
    const { clock, metrics } = this.#context;
    const began = clock.monotonicMs();
    const traffic = countTraffic(stream, (direction, count) => {
      box.touch();
      metrics.portBytes.inc({ direction }, count);
    });
    let failure: VivError | null = null;
    stream.on('error', (error) => {
      failure = VivError.from(error);
    });
    stream.once('close', () => {
      box.touch();
      box.note('port', {
        ...note,
        ...traffic,
        durationMs: Math.round(clock.monotonicMs() - began),
        ...(failure ? { error: failure.message } : {}),
      });
    });
  }
}
