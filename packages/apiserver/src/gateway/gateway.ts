import { type ClientRequest, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';
import type { Edge } from '@vivarium/edge/edge.ts';
import { VivError } from '@vivarium/protocol';
import type { Logger } from 'pino';
import type { KeyStore } from '../auth/key-store.ts';
import { askForBody } from '../http/expect.ts';
import { sendFailure } from '../http/failure.ts';
import { upgradeAnswer } from '../http/upgrade-answer.ts';
import type { RequestMetrics } from '../metrics.ts';
import { type Admission, admit } from './admission.ts';
import { withoutToken } from './credentials.ts';
import { requestHeaders, responseHeaders } from './headers.ts';
import { secured } from './secured.ts';
import type { Target } from './target.ts';

export type GatewayOptions = { edge: Edge; keys: KeyStore; metrics: RequestMetrics; log: Logger };

/** Who may come in, and how a refusal looks. */
export type Door = {
  /** Throws when the request may not pass. May wake the sandbox. */
  admit(req: IncomingMessage, target: Target): Admission | Promise<Admission>;
  /** Called when nothing listens at the port. True: it does now, try again. */
  open?(target: Target): Promise<boolean>;
  fail(req: IncomingMessage, res: ServerResponse, thrown: unknown, target: Target): void;
};

/** HTTP and WebSocket to ports inside sandboxes, over the guest's own channel: the sandbox needs no network. Bodies stream both ways. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #door: Door;

  constructor(options: GatewayOptions) {
    const { edge, keys, log } = options;
    this.#options = options;
    this.#door = {
      admit: (req, target) => admit(req, target, keys, edge),
      fail: (req, res, thrown) => sendFailure(req, res, thrown, log),
    };
  }

  async handle(req: IncomingMessage, res: ServerResponse, target: Target, door = this.#door): Promise<void> {
    try {
      const admission = await door.admit(req, target);
      if (needsSlash(req, target))
        return void res.writeHead(308, { location: withSlash(req.url!), 'content-length': 0 }).end();
      this.#options.metrics.gateway.inc({ kind: 'http' });
      const inner = await this.#connect(target, admission, res, door);
      forward(req, res, target, admission, inner, door);
    } catch (error) {
      door.fail(req, res, error, target);
    }
  }

  async upgrade(req: IncomingMessage, socket: Duplex, head: Buffer, target: Target, door = this.#door): Promise<void> {
    socket.on('error', () => {});
    const res = upgradeAnswer(req, socket);
    try {
      const admission = await door.admit(req, target);
      this.#options.metrics.gateway.inc({ kind: 'websocket' });
      const inner = await this.#connect(target, admission, res, door);
      tunnel(req, res, socket, head, target, admission, inner, door);
    } catch (error) {
      door.fail(req, res, error, target);
    }
  }

  /** A client that left meanwhile must not leave a connection behind. */
  async #connect(target: Target, admission: Admission, res: ServerResponse, door: Door): Promise<Duplex> {
    const connect = () => this.#options.edge.ports.connect(target.id, { port: target.port });
    const plain = await connect().catch(async (error: unknown) => {
      if (VivError.from(error).code === 'port_closed' && (await door.open?.(target))) return connect();
      throw error;
    });
    plain.on('error', () => {});
    const inner = admission.tls ? await secured(plain, target.port) : plain;
    if (res.destroyed || res.socket?.destroyed) {
      inner.destroy();
      throw new VivError('connection_lost', 'the client is gone');
    }
    return inner;
  }
}

function forward(
  req: IncomingMessage,
  res: ServerResponse,
  target: Target,
  admission: Admission,
  inner: Duplex,
  door: Door,
): void {
  const upstream = begin(req, target, admission, inner, false);
  upstream.on('response', (answer) => relay(answer, res, target, admission, door));
  whenUnanswered(upstream, (cause) => door.fail(req, res, closed(target, cause), target));
  res.on('close', () => inner.destroy());
  askForBody(req, res);
  if (hasBody(req)) pipeline(req, upstream, () => {});
  else upstream.end();
}

/** Only after the program inside has agreed does the connection become a plain pipe; any other answer is an ordinary response. */
function tunnel(
  req: IncomingMessage,
  res: ServerResponse,
  socket: Duplex,
  head: Buffer,
  target: Target,
  admission: Admission,
  inner: Duplex,
  door: Door,
): void {
  const upstream = begin(req, target, admission, inner, true);
  socket.on('close', () => inner.destroy());
  upstream.on('upgrade', (answer, stream, early) => {
    upstream.removeAllListeners('close');
    res.detachSocket(socket as never);
    const lines = responseHeaders(answer, admission.setCookie, true);
    let text = `HTTP/1.1 101 ${answer.statusMessage ?? 'Switching Protocols'}\r\n`;
    for (let i = 0; i < lines.length; i += 2) text += `${lines[i]}: ${lines[i + 1]}\r\n`;
    socket.write(`${text}\r\n`, 'latin1');
    if (early.length > 0) socket.write(early);
    if (head.length > 0) stream.write(head);
    // Two pipelines listen on both ends.
    for (const end of [socket, stream]) end.setMaxListeners(32);
    pipeline(socket, stream, () => stream.destroy());
    pipeline(stream, socket, () => socket.destroy());
  });
  upstream.on('response', (answer) => relay(answer, res, target, admission, door));
  whenUnanswered(upstream, (cause) => door.fail(req, res, closed(target, cause), target));
  upstream.end();
}

function begin(
  req: IncomingMessage,
  target: Target,
  admission: Admission,
  inner: Duplex,
  upgrade: boolean,
): ClientRequest {
  const headers = requestHeaders(req, target, admission, upgrade);
  return request({
    method: req.method,
    path: withoutToken(target.path),
    headers,
    setHost: false,
    createConnection: () => inner,
  });
}

/** The end of a request that got no answer: an error, or an answer that Node drops silently (a 101 that nobody asked for). */
function whenUnanswered(upstream: ClientRequest, fail: (cause?: Error) => void): void {
  let answered = false;
  upstream.once('response', () => {
    answered = true;
  });
  upstream.on('error', fail);
  upstream.on('close', () => !answered && fail());
}

/** The program inside is not trusted: what can't be passed on (a status of 42, control characters) must end its own request and nothing else. */
function relay(answer: IncomingMessage, res: ServerResponse, target: Target, admission: Admission, door: Door): void {
  answer.on('error', () => {});
  if (res.destroyed) return void answer.destroy();
  try {
    const reason = answer.statusMessage?.replace(/[^\t\x20-\x7e\x80-\xff]/g, '?');
    res.writeHead(answer.statusCode ?? 502, reason, responseHeaders(answer, admission.setCookie, false));
  } catch (cause) {
    answer.destroy();
    const failure = new VivError('port_closed', `port ${target.port} inside gave an answer that is no HTTP`, { cause });
    return door.fail(answer, res, failure, target);
  }
  // An event stream may stay silent for long: its headers must not wait for the first event.
  res.flushHeaders();
  pipeline(answer, res, (error) => error && res.destroy());
}

function closed(target: Target, cause?: Error): VivError {
  return new VivError('port_closed', `port ${target.port} inside ended the connection without an answer`, {
    details: { port: target.port },
    cause,
  });
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** `…/ports/8000` would make relative links of the page go astray. */
function needsSlash(req: IncomingMessage, target: Target): boolean {
  return (
    target.prefix !== '' &&
    (req.method === 'GET' || req.method === 'HEAD') &&
    req.url!.slice(target.prefix.length)[0] !== '/'
  );
}

function withSlash(url: string): string {
  const mark = url.indexOf('?');
  return mark < 0 ? `${url}/` : `${url.slice(0, mark)}/${url.slice(mark)}`;
}
