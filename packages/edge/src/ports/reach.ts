import type { Duplex } from 'node:stream';
import type { Reach } from '@vivarium/protocol';
import type { CellListener } from '../cell/cell-listener.ts';
import type { Box } from '../lifecycle/box.ts';
import { ReachProxy } from './reach-proxy.ts';
import { overLimit, type ReachUse } from './reach-use.ts';
import { countTraffic } from './traffic.ts';

/**
 * "Sealed but connected": for each endpoint named at creation a listener inside the sandbox whose connections come out over the guest's
 * stream and are forwarded, request by request, to that one endpoint. The sandbox has no route to anything.
 */
export class Reaches {
  readonly #proxy = new ReachProxy();

  /** Arms the endpoints of a sandbox that runs (again); listeners that survived a restart of the edge are taken over. */
  async arm(box: Box): Promise<void> {
    const cell = box.cell!;
    const left = new Map(
      cell.retainedListeners().map((retained) => [Buffer.from(retained.tag).toString('latin1'), retained]),
    );
    for (const reach of box.row.reach) {
      const tag = `reach:${reach.port}`;
      const retained = left.get(tag);
      left.delete(tag);
      const options = { tag: Buffer.from(tag, 'latin1'), maxConnections: reach.maxConnections };
      const listener = retained ? cell.resumeListener(retained) : await cell.listenTcp(reach.port, options);
      this.#serve(box, reach, listener);
    }
    for (const retained of left.values()) cell.resumeListener(retained).close();
  }

  close(): void {
    this.#proxy.close();
  }

  #serve(box: Box, reach: Reach, listener: CellListener): void {
    const use: ReachUse = { box, reach, bytes: box.reachBytes?.get(reach.port) ?? 0, connections: 0 };
    const open = new Set<Duplex>();
    listener.onConnection((stream) => {
      stream.on('error', () => {});
      if (use.connections >= reach.maxConnections) return void stream.destroy();
      use.connections += 1;
      open.add(stream);
      stream.once('close', () => {
        use.connections -= 1;
        open.delete(stream);
      });
      // A connection that comes too late is told so (403); one that passes the limit is cut.
      const late = use.bytes > reach.maxBytes;
      const traffic = countTraffic(stream, (direction, count) => {
        use.bytes += count;
        box.touch();
        box.context.metrics.portBytes.inc({ direction }, count);
        if (!late && use.bytes > reach.maxBytes) stream.destroy(overLimit(use));
      });
      this.#proxy.accept(stream, use, traffic);
    });
    box.onEnd.push(() => {
      // Its next cell, if there will be one, goes on counting.
      box.reachBytes ??= new Map();
      box.reachBytes.set(reach.port, use.bytes);
      for (const stream of open) stream.destroy();
    });
  }
}
