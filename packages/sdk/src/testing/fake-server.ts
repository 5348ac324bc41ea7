import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MuxOp } from '@vivarium/protocol/mux.ts';
import { MUX_PROTOCOL } from '@vivarium/protocol/mux-frame.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { type WebSocket, WebSocketServer } from 'ws';
import { FakeChannel } from './fake-channel.ts';

export type Seen = { method: string; path: string; headers: IncomingMessage['headers']; body: Buffer };
export type Answer = {
  status?: number;
  json?: unknown;
  raw?: Buffer;
  headers?: Record<string, string>;
  hang?: true;
  cut?: true;
  /** Breaks the connection after `raw`. */
  cutAfter?: true;
};

/** A server that speaks the wire protocol and fakes everything behind it, so that tests can break things at will. */
export class FakeServer {
  readonly seen: Seen[] = [];
  readonly sockets = new Set<WebSocket>();
  readonly opens: MuxOp[] = [];
  /** Answers to HTTP requests, `METHOD /path` without the query. A function sees each request. */
  readonly routes = new Map<string, Answer | ((seen: Seen) => Answer | Promise<Answer>)>();
  /** What a channel does. */
  onOpen: (req: MuxOp, channel: FakeChannel) => void | Promise<void> = (_req, channel) =>
    channel.closed(new VivError('unsupported', 'no onOpen'));
  /** Refuses WebSockets with this. */
  refuse: VivError | undefined;
  url = '';
  readonly #http = createServer((request, response) => void this.#handle(request, response).catch(() => {}));
  readonly #ws = new WebSocketServer({ noServer: true, perMessageDeflate: false });

  static async start(): Promise<FakeServer> {
    const server = new FakeServer();
    server.#http.on('upgrade', (request, socket, head) => {
      if (server.refuse) {
        const body = JSON.stringify(server.refuse.toBody());
        socket.end(
          `HTTP/1.1 ${server.refuse.status} Refused\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
        );
        return;
      }
      server.#ws.handleUpgrade(request, socket, head, (ws) => server.#connected(ws));
    });
    await server.listen(0);
    return server;
  }

  async listen(port: number): Promise<void> {
    this.#http.listen(port, '127.0.0.1');
    await once(this.#http, 'listening');
    this.url = `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  /** Breaks every WebSocket as a cable does. */
  cut(): void {
    for (const socket of this.sockets) socket.terminate();
  }

  async close(): Promise<void> {
    this.cut();
    this.#http.closeAllConnections();
    this.#http.close();
    await once(this.#http, 'close');
  }

  #connected(ws: WebSocket): void {
    if (ws.protocol !== MUX_PROTOCOL) ws.close(1008, 'subprotocol');
    this.sockets.add(ws);
    const channels = new Map<number, FakeChannel>();
    ws.on('close', () => {
      this.sockets.delete(ws);
      for (const channel of channels.values()) channel.broken();
    });
    const find = (ch: number) =>
      channels.get(ch) ?? [...channels.values()].find((channel) => channel.siblings.has(ch))?.siblings.get(ch);
    ws.on('message', (data: Buffer, binary) => {
      if (binary) {
        find(data.readUInt32LE(0))?.input(data[4]!, data.subarray(8));
        return;
      }
      const message = JSON.parse(data.toString()) as { t: string; ch: number; req: MuxOp };
      if (message.t === 'ping') ws.send('{"t":"pong"}');
      else if (message.t === 'open') {
        const channel = new FakeChannel(ws, message.ch);
        channels.set(message.ch, channel);
        this.opens.push(message.req);
        void this.onOpen(message.req, channel);
      } else find(message.ch)?.message(message as never);
    });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = new URL(request.url ?? '/', 'http://x').pathname;
    const seen = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks),
    };
    this.seen.push(seen);
    const route = this.routes.get(`${request.method} ${path}`);
    const answer: Answer =
      typeof route === 'function'
        ? await route(seen)
        : (route ?? errorAnswer(new VivError('route_not_found', `no ${request.method} ${path}`)));
    if (answer.cut) return void request.socket.destroy();
    if (answer.hang) return;
    response.writeHead(answer.status ?? 200, {
      'content-type': answer.raw ? 'application/octet-stream' : 'application/json',
      ...answer.headers,
    });
    if (answer.cutAfter) return void response.write(answer.raw, () => request.socket.destroy());
    response.end(answer.raw ?? JSON.stringify(answer.json ?? {}));
  }
}

export function errorAnswer(error: VivError): Answer {
  return { status: error.status, json: error.toBody() };
}
