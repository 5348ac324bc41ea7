import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Edge } from '@vivarium/edge/edge.ts';
import { VivError } from '@vivarium/protocol';
import type { Logger } from 'pino';
import type { KeyStore } from './auth/key-store.ts';
import type { E2bStore } from './e2b/store.ts';
import { E2bSurface } from './e2b/surface.ts';
import { Gateway } from './gateway/gateway.ts';
import { gatewayTarget } from './gateway/target.ts';
import { allowOrigins } from './http/cors.ts';
import { Dispatcher } from './http/dispatcher.ts';
import { afterEarlierAnswers } from './http/earlier-answers.ts';
import { holdsBody } from './http/expect.ts';
import { sendFailure } from './http/failure.ts';
import { HANDLERS } from './http/handlers.ts';
import { upgradeAnswer } from './http/upgrade-answer.ts';
import { listen } from './listen.ts';
import { RequestMetrics } from './metrics.ts';
import { MuxServer } from './mux/mux-server.ts';
import { openapiText } from './openapi/document.ts';
import { Shutdown } from './shutdown.ts';
import { type TlsFiles, TlsFront, type TlsOptions } from './tls-front.ts';

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
  /** An upload or download on which nothing moves for this long is cut. Default 300,000 ms. */
  idleTimeoutMs?: number;
  /** Connections at once; more are refused. Default 8,192. */
  maxConnections?: number;
  /** How often clients of `/v1/connect` are asked whether they live; three times that in silence ends them. Default 20,000 ms. */
  pingMs?: number;
  /** close() lets requests finish for this long. Default 10,000 ms. */
  graceMs?: number;
  /** HTTPS: at an address of its own, else at the same one beside plain HTTP. Default: none. */
  tls?: TlsOptions | undefined;
  /** The E2B surface: its store, and a directory for uploads. Default: there is none. */
  e2b?: { store: E2bStore; directory: string };
  log: Logger;
};

export type ApiServer = {
  url: string;
  port: number;
  /** Port of HTTPS, when there is any. */
  tlsPort: number | undefined;
  /** Another certificate for new connections. Throws `precondition_failed`. */
  renewTls(files: TlsFiles): void;
  close(): Promise<void>;
};

const HEADERS_TIMEOUT_MS = 15_000;

/** Serves the API on one port: JSON routes, `/v1/connect` and the ports of sandboxes. Throws `precondition_failed` when the address can't be had. */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { edge, keys, log, domain } = options;
  const metrics = new RequestMetrics();
  const services = {
    edge,
    keys,
    metrics: async () => `${await edge.info.metrics()}${await metrics.text()}`,
    openapi: openapiText,
  };
  const limits = {
    maxBodyBytes: options.maxBodyBytes ?? 2 * 1024 * 1024,
    bodyTimeoutMs: options.bodyTimeoutMs ?? 30_000,
    idleTimeoutMs: options.idleTimeoutMs ?? 300_000,
  };
  const dispatcher = new Dispatcher({ services, handlers: HANDLERS, metrics, log, ...limits });
  const gateway = new Gateway({ edge, keys, metrics, log });
  const e2b = options.e2b && new E2bSurface({ ...options.e2b, edge, keys, domain, log }, gateway, metrics, limits);
  const mux = new MuxServer({ edge, keys, metrics, log, pingMs: options.pingMs });
  let closing = false;

  const answer = (req: IncomingMessage, res: ServerResponse) => {
    req.on('error', ignore);
    // Whoever writes after an answer was cut off must not end the server.
    res.on('error', ignore);
    try {
      if (closing) throw new VivError('shutting_down', 'the server is stopping');
      const asked = e2b?.target(req);
      if (asked) return e2b!.handle(req, res, asked);
      const target = gatewayTarget(req, domain);
      if (target) return void gateway.handle(req, res, target);
    } catch (error) {
      return sendFailure(req, res, error, log);
    }
    if (!allowOrigins(req, res)) void dispatcher.handle(req, res);
  };
  const upgrade = (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    try {
      if (closing) throw new VivError('shutting_down', 'the server is stopping');
      const asked = e2b?.target(req);
      if (asked) return e2b!.upgrade(req, socket, head, asked);
      const target = gatewayTarget(req, domain);
      if (target) return void gateway.upgrade(req, socket, head, target);
      if (req.url?.split('?')[0] !== '/v1/connect')
        throw new VivError('route_not_found', `no WebSocket is at ${req.url?.split('?')[0]?.slice(0, 200)}`);
      mux.accept(req, socket, head);
    } catch (error) {
      refuse(req, socket, error, log);
    }
  };

  const server = createServer(httpOptions(options), answer);
  const tls = options.tls && new TlsFront(server, options.tls, options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS);
  const shutdown = new Shutdown(server, tls?.server);
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => {
    holdsBody(req);
    answer(req, res);
  });
  server.on('upgrade', (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', ignore);
    afterEarlierAnswers(socket, () => upgrade(req, socket, head));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => garbage(error, socket));
  server.maxConnections = options.maxConnections ?? 8_192;
  const port = await listen(server, options.host, options.port);
  const tlsPort = await tls?.open(port).catch((error) => {
    server.close();
    throw error;
  });
  const shown = options.host.includes(':') ? `[${options.host}]` : options.host;
  const close = async () => {
    closing = true;
    mux.close();
    await Promise.all([e2b?.close(), shutdown.stop(options.graceMs ?? 10_000)]);
  };
  return { url: `http://${shown}:${port}`, port, tlsPort, renewTls: (files) => tls?.renew(files), close };
}

/** requestTimeout stays off: uploads take as long as they take; JSON bodies have a time limit of their own. */
function httpOptions(options: ApiServerOptions) {
  const headersTimeout = options.headersTimeoutMs ?? HEADERS_TIMEOUT_MS;
  return {
    headersTimeout,
    requestTimeout: 0,
    keepAliveTimeout: 120_000,
    connectionsCheckingInterval: Math.min(5_000, headersTimeout),
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 30_000,
    highWaterMark: 262_144,
    // Other upgrades (curl offers h2c) are ordinary requests to us.
    shouldUpgradeCallback: (req: IncomingMessage) => req.headers.upgrade?.toLowerCase() === 'websocket',
  };
}

/** An HTTP answer where a WebSocket was asked for. */
function refuse(req: IncomingMessage, socket: Duplex, error: unknown, log: Logger): void {
  sendFailure(req, upgradeAnswer(req, socket), error, log);
}

/** Bytes that are no HTTP, or that come too slowly: a bare answer, if there is still somebody to read it. */
function garbage(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, code, message] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? (['408 Request Timeout', 'request_timeout', 'the request did not arrive in time'] as const)
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? (['431 Request Header Fields Too Large', 'payload_too_large', 'the headers are too large'] as const)
        : (['400 Bad Request', 'invalid_argument', 'this is not HTTP/1.1'] as const);
  const body = JSON.stringify(new VivError(code, message).toBody());
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}

const ignore = () => {};
