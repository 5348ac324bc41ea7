import { mkdirSync } from 'node:fs';
import { openKeyStore } from '@vivarium/apiserver/key-store.ts';
import { createApiServer } from '@vivarium/apiserver/server.ts';
import { createContainerDriver } from '@vivarium/edge/drivers/container/driver.ts';
import { openEdge } from '@vivarium/edge/open-edge.ts';
import { startSpawner } from '@vivarium/edge/spawner/client.ts';
import { openImageStore } from '@vivarium/layers/image-store.ts';
import type { Logger } from 'pino';
import { type NodePaths, VIV_INIT } from './paths.ts';
import type { ServerOptions } from './server-options.ts';

/** A node that serves. Both ways to end it take no new work and let requests in flight finish, for a bounded time. */
export type OpenNode = {
  url: string;
  /** Stops serving; the sandboxes live on and the next open adopts them. */
  close(): Promise<void>;
  /** Ends every sandbox, then stops serving and gives back mounts and devices. */
  closeAndEnd(): Promise<void>;
};

/** Wires the parts of a node, bottom up; on an error what was opened is closed again. Runs inside the holder's namespace. */
export async function openNode(options: ServerOptions, log: Logger): Promise<OpenNode> {
  const { paths } = options;
  const opened: (() => Promise<void> | void)[] = [];
  const closeAll = async () => {
    for (const close of opened.reverse()) await close();
    opened.length = 0;
  };
  try {
    const edge = await openEdgeOf(paths, log, opened);
    const keys = openKeyStore(paths.keyDatabase);
    opened.push(() => keys.close());
    keys.ensureFirstKey(paths.firstKey);
    const { host, port } = options.listen;
    const api = await createApiServer({ edge, keys, host, port, domain: options.domain, log });
    opened.push(() => api.close());
    return {
      url: api.url,
      close: closeAll,
      closeAndEnd: async () => {
        await edge.endAll();
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

/** Spawner, images, driver and edge, without a server: also what `viv down` needs when the server is dead. */
export async function openEdgeOf(paths: NodePaths, log: Logger, opened: (() => Promise<void> | void)[]) {
  const { stateDir, runDir } = paths;
  mkdirSync(paths.keyDir, { recursive: true, mode: 0o700 });
  const spawner = await startSpawner({ log });
  opened.push(() => spawner.close());
  let layersInUse: (digest: string) => boolean = () => false;
  const images = await openImageStore({
    stateDir,
    runDir,
    mounter: spawner,
    inUse: (digest) => layersInUse(digest),
    log,
  });
  opened.push(() => images.close());
  const driver = await createContainerDriver({ stateDir, runDir, vivInitPath: VIV_INIT, spawner });
  const edge = await openEdge({ stateDir, drivers: [driver], images, log });
  opened.push(() => edge.close());
  layersInUse = (digest) => edge.usesLayer(digest);
  return edge;
}
