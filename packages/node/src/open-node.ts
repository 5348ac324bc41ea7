import { mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { ensureFirstKey } from '@vivarium/apiserver/auth/first-key.ts';
import { SqliteKeyStore } from '@vivarium/apiserver/auth/sqlite-key-store.ts';
import { E2bStore } from '@vivarium/apiserver/e2b/store.ts';
import { createApiServer } from '@vivarium/apiserver/server.ts';
import { createContainerDriver } from '@vivarium/edge/drivers/container/driver.ts';
import { FnDriver } from '@vivarium/edge/drivers/fn/driver.ts';
import { openEdge } from '@vivarium/edge/open-edge.ts';
import { startSpawner } from '@vivarium/edge/spawner/client.ts';
import { openBtrfsDisk } from '@vivarium/edge/volumes/btrfs-disk.ts';
import { openImageStore } from '@vivarium/layers/image-store.ts';
import { VivError } from '@vivarium/protocol';
import type { Logger } from 'pino';
import { certificateFault, readCertificate } from './certificate.ts';
import type { ListenAddress } from './listen-address.ts';
import { type NodePaths, VIV_INIT } from './paths.ts';
import type { ServerOptions } from './server-options.ts';

/** A node that serves. Both ways to end it take no new work and let requests in flight finish, for a bounded time. */
export type OpenNode = {
  url: string;
  /** Reads certificate and key again. Throws `precondition_failed`; the old ones are used on then. */
  renewTls(): void;
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
    const { host, port } = options.listen;
    await requireFreePort(options.listen, '--listen');
    if (options.tls?.listen) await requireFreePort(options.tls.listen, '--tls-listen');
    const tls = options.tls && { ...readCertificate(options.tls), listen: options.tls.listen };
    if (tls) tellFault(tls.cert, options, log);
    const edge = await openEdgeOf(paths, log, opened);
    const keys = new SqliteKeyStore(paths.keyDatabase);
    opened.push(() => keys.close());
    ensureFirstKey(keys, paths.firstKey);
    const store = new E2bStore(paths.e2bDatabase);
    opened.push(() => store.close());
    const e2b = { store, directory: paths.e2bDir };
    const api = await createApiServer({ edge, keys, host, port, domain: options.domain, tls, e2b, log });
    opened.push(() => api.close());
    return {
      url: api.url,
      renewTls: () => {
        if (!options.tls) return;
        const files = readCertificate(options.tls);
        tellFault(files.cert, options, log);
        api.renewTls(files);
      },
      close: () => {
        edge.drain();
        return closeAll();
      },
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
  const spawner = startSpawner({
    onRestart: (reason) => log.warn({ reason }, 'the spawner ended and was started again'),
  });
  opened.push(() => spawner.close());
  let layersInUse: (digest: string) => boolean = () => false;
  const images = await openImageStore({
    stateDir,
    runDir,
    mounter: spawner,
    inUse: (digest) => layersInUse(digest),
    log: (level, message, fields) => log[level](fields ?? {}, message),
  });
  opened.push(() => images.close());
  const driver = await createContainerDriver({ stateDir, runDir, vivInitPath: VIV_INIT, spawner });
  const volumeDisk = await openBtrfsDisk({ stateDir, runDir, spawner });
  const edge = await openEdge({ stateDir, drivers: [driver, new FnDriver(driver)], images, volumeDisk, log });
  opened.push(() => edge.close());
  layersInUse = (digest) => edge.usesLayer(digest);
  return edge;
}

/** It is served nevertheless: plain HTTP and the sandboxes need no certificate. */
function tellFault(cert: string, { domain, tls }: ServerOptions, log: Logger): void {
  const fault = certificateFault(cert, domain, Date.now());
  if (fault !== undefined) log.warn({ file: tls?.cert, fault }, 'clients will not take the certificate');
}

/** Asked before anything is opened: adopting thousands of sandboxes only to find the port taken helps nobody. */
function requireFreePort({ host, port }: ListenAddress, option: string): Promise<void> {
  const probe = createServer();
  return new Promise((resolve, reject) => {
    probe.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? 'something else listens there' : cause.message;
      reject(
        new VivError('precondition_failed', `can't listen on ${host}:${port}: ${why}`, {
          hint: `Stop the other program or choose another address with ${option}.`,
          cause,
        }),
      );
    });
    probe.listen({ host, port }, () => probe.close(() => resolve()));
  });
}
