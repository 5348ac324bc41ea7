import {
  type ClientRequest,
  createServer,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';
import { VivError } from '@vivarium/protocol';
import { endToEnd, framing, headersFromInside, reachPath } from './reach-request.ts';
import { reachToken } from './reach-token.ts';
import { overLimit, type ReachUse } from './reach-use.ts';
import type { Traffic } from './traffic.ts';

const CONNECT_MS = 30_000;
const PATH_JOURNAL_CHARS = 2000;

type Connection = {
  use: ReachUse;
  traffic: Traffic /** What earlier calls on this connection have been charged with. */;
  told: Traffic;
};

/**
 * Forwards HTTP requests that come out of sandboxes, body and answer streamed both ways (server-sent events and WebSockets too). The
 * endpoint's secrets are added here, on the way out: the sandbox never sees them.
 */
export class ReachProxy {
  readonly #connections = new WeakMap<object, Connection>();
  readonly #http = new HttpAgent({ keepAlive: true, maxFreeSockets: 64 });
  readonly #https = new HttpsAgent({ keepAlive: true, maxFreeSockets: 64 });
  readonly #server = createServer({ requestTimeout: 0, keepAliveTimeout: 65_000 });

  constructor() {
    this.#server.on('request', (request, response) => this.#forward(request, response));
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  /** Serves one connection from inside. */
  accept(stream: Duplex, use: ReachUse, traffic: Traffic): void {
    this.#connections.set(stream, { use, traffic, told: { bytesIn: 0, bytesOut: 0 } });
    this.#server.emit('connection', stream);
  }

  close(): void {
    this.#http.destroy();
    this.#https.destroy();
    this.#server.close();
  }

  #forward(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket)!;
    const { use } = connection;
    const journal = journalCall(connection, request);
    if (use.bytes > use.reach.maxBytes) return refuse(response, overLimit(use), journal);
    let upstream: ClientRequest;
    try {
      upstream = this.#request(use, request, framing(request));
    } catch (error) {
      return refuse(response, VivError.from(error), journal);
    }
    upstream.on('response', (answer) => {
      try {
        response.writeHead(
          answer.statusCode ?? 502,
          answer.statusMessage,
          endToEnd(answer.headers) as IncomingHttpHeaders,
        );
      } catch (cause) {
        // A status of 42, say: it ends its own request and nothing else.
        upstream.destroy();
        return refuse(response, unavailable(use, cause), journal);
      }
      response.flushHeaders();
      pipeline(answer, response, () => journal(answer.statusCode ?? 0));
    });
    upstream.on('error', (cause) => {
      if (response.headersSent) return void response.destroy();
      refuse(response, unavailable(use, cause), journal);
    });
    response.once('close', () => upstream.destroy());
    request.pipe(upstream);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const connection = this.#connections.get(request.socket)!;
    const { use } = connection;
    const journal = journalCall(connection, request);
    if (use.bytes > use.reach.maxBytes) return refuseUpgrade(socket, overLimit(use), journal);
    let upstream: ClientRequest;
    try {
      upstream = this.#request(use, request, { connection: 'Upgrade', upgrade: request.headers.upgrade ?? '' });
    } catch (error) {
      return refuseUpgrade(socket, VivError.from(error), journal);
    }
    upstream.on('upgrade', (answer, other, otherHead) => {
      socket.write(statusHead(answer));
      if (otherHead.length > 0) socket.write(otherHead);
      if (head.length > 0) other.write(head);
      pipeline(socket, other, () => {});
      pipeline(other, socket, () => journal(answer.statusCode ?? 101));
    });
    upstream.on('response', (answer) => {
      socket.write(statusHead(answer));
      pipeline(answer, socket, () => journal(answer.statusCode ?? 0));
    });
    upstream.on('error', (cause) => refuseUpgrade(socket, unavailable(use, cause), journal));
    socket.once('close', () => upstream.destroy());
    upstream.end();
  }

  #request({ box, reach }: ReachUse, request: IncomingMessage, extra: Record<string, string>) {
    const url = new URL(reach.url);
    const secure = url.protocol === 'https:';
    const options: RequestOptions = {
      protocol: url.protocol,
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port || (secure ? 443 : 80),
      method: request.method,
      path: reachPath(url.pathname, request.url ?? '/'),
      agent: secure ? this.#https : this.#http,
      headers: {
        ...headersFromInside(request.headers, Object.keys(reach.headers ?? {})),
        ...extra,
        ...reach.headers,
        host: url.host,
        'x-vivarium-sandbox': box.id,
        'x-vivarium-token': reachToken(box.row.token, reach.port),
      },
    };
    const upstream = secure ? httpsRequest(options) : httpRequest(options);
    upstream.once('socket', (socket) => {
      if (!socket.connecting) return;
      const timer = setTimeout(() => upstream.destroy(new Error('no connection within 30 s')), CONNECT_MS);
      timer.unref();
      socket.once(secure ? 'secureConnect' : 'connect', () => clearTimeout(timer));
      upstream.once('close', () => clearTimeout(timer));
    });
    return upstream;
  }
}

function statusHead(answer: IncomingMessage): string {
  const lines = [`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}`];
  for (let i = 0; i < answer.rawHeaders.length; i += 2)
    lines.push(`${answer.rawHeaders[i]}: ${answer.rawHeaders[i + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function refuse(response: ServerResponse, error: VivError, journal: (status: number) => void): void {
  const body = JSON.stringify(error.toBody());
  response.writeHead(error.status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
  response.end(body);
  journal(error.status);
}

function refuseUpgrade(socket: Duplex, error: VivError, journal: (status: number) => void): void {
  const body = JSON.stringify(error.toBody());
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  journal(error.status);
}

function unavailable({ reach }: ReachUse, cause: unknown): VivError {
  const why = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : String(cause);
  return new VivError('reach_unavailable', `the endpoint behind port ${reach.port} did not answer: ${why}`, {
    details: { port: reach.port },
    cause,
  });
}

/** Writes a call down when it is over: method, path, status, bytes both ways, time. */
function journalCall({ use, traffic, told }: Connection, request: IncomingMessage): (status: number) => void {
  const { box, reach } = use;
  const { clock } = box.context;
  const began = clock.monotonicMs();
  let written = false;
  return (status) => {
    if (written) return;
    written = true;
    box.note('reach', {
      port: reach.port,
      method: request.method,
      path: (request.url ?? '').slice(0, PATH_JOURNAL_CHARS),
      status,
      bytesOut: traffic.bytesOut - told.bytesOut,
      bytesIn: traffic.bytesIn - told.bytesIn,
      durationMs: Math.round(clock.monotonicMs() - began),
    });
    Object.assign(told, traffic);
  };
}
