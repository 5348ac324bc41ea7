import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Edge } from '@vivarium/edge/edge.ts';
import { VivError } from '@vivarium/protocol';
import type { Logger } from 'pino';
import type { KeyStore } from './auth/key-store.ts';
import { Dispatcher } from './http/dispatcher.ts';
import { sendFailure } from './http/failure.ts';
import { HANDLERS } from './http/handlers.ts';
import { RequestMetrics } from './metrics.ts';
import { openapiText } from './openapi/document.ts';

export type ApiServerOptions = {
  edge: Edge;
  keys: KeyStore;
  /** Address to listen on, e.g. 127.0.0.1. */
  host: string;
  /** 0 picks a free one. */
  port: number;
  /** Ports of sandboxes also answer at `<port>-<id>.<domain>`. Default: none. */
  domain?: string | undefined;
  /** Largest JSON body. Default 2 MiB. Streamed bodies have no limit. */
  maxBodyBytes?: number;
  /** A JSON body must arrive within this. Default 30,000 ms. */
  bodyTimeoutMs?: number;
  /** Request headers must arrive within this, also the first bytes of a new connection. Default 15,000 ms. */
  headersTimeoutMs?: number;
  /** Connections at once; more are refused. Default 8,192. */
  maxConnections?: number;
  /** close() lets requests finish for this long. Default 10,000 ms. */
  graceMs?: number;
  log: Logger;
};

export type ApiServer = { url: string; port: number; close(): Promise<void> };

/** Serves the API on one port. Rejects when the port can't be had (`precondition_failed`). */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { edge, keys, log } = options;
  const metrics = new RequestMetrics();
  const services = {
    edge,
    keys,
    metrics: async () => `${await edge.info.metrics()}${await metrics.text()}`,
    openapi: openapiText,
  };
  const dispatcher = new Dispatcher({
    services,
    handlers: HANDLERS,
    metrics,
    log,
    maxBodyBytes: options.maxBodyBytes ?? 2 * 1024 * 1024,
    bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000,
  });
  let closing = false;
  const handle = (req: IncomingMessage, res: ServerResponse) => {
    req.on('error', () => {});
    if (closing) return sendFailure(req, res, new VivError('shutting_down', 'the server is stopping'), log);
    void dispatcher.handle(req, res);
  };
  const server = createServer(httpOptions(options), handle);
  server.maxConnections = options.maxConnections ?? 8_192;
  await listen(server, options);
  const { port } = server.address() as AddressInfo;
  const shown = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    url: `http://${shown}:${port}`,
    port,
    close: () => {
      closing = true;
      return stop(server, options.graceMs ?? 10_000);
    },
  };
}

/** requestTimeout stays off: uploads take as long as they take; JSON bodies have a time limit of their own. */
function httpOptions(options: ApiServerOptions) {
  const headersTimeout = options.headersTimeoutMs ?? 15_000;
  return {
    headersTimeout,
    requestTimeout: 0,
    keepAliveTimeout: 120_000,
    connectionsCheckingInterval: Math.min(5_000, headersTimeout),
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    highWaterMark: 262_144,
  };
}

function listen(server: Server, { host, port }: ApiServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        new VivError(
          'precondition_failed',
          `cannot listen on ${host}:${port}: ${error.code === 'EADDRINUSE' ? 'something else uses it' : error.message}`,
          { cause: error },
        ),
      );
    });
    server.listen({ host, port, backlog: 1024 }, resolve);
  });
}

/** Lets what is under way finish, within the grace time. */
function stop(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
