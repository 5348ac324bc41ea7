import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Edge } from '@vivarium/edge/edge.ts';
import { VivError } from '@vivarium/protocol';
import { MUX_PROTOCOL } from '@vivarium/protocol/mux-frame.ts';
import type { Logger } from 'pino';
import { WebSocketServer } from 'ws';
import { authenticate, authorize, KEY_SUBPROTOCOL, presentedSecret } from '../auth/authenticate.ts';
import type { KeyStore } from '../auth/key-store.ts';
import type { RequestMetrics } from '../metrics.ts';
import { Connection } from './connection.ts';

/** Each client is asked this often whether it lives, and dropped after three times that in silence. */
const PING_MS = 20_000;
const SILENCE_MS = 3 * PING_MS;
/** Largest message: a request with stdin in it. Data messages have a smaller limit of their own. */
const MESSAGE_MAX_BYTES = 2 * 1024 * 1024;

export type MuxServerOptions = { edge: Edge; keys: KeyStore; metrics: RequestMetrics; log: Logger; pingMs?: number };

/** Accepts `GET /v1/connect` and watches over the connections. */
export class MuxServer {
  readonly #options: MuxServerOptions;
  readonly #connections = new Set<Connection>();
  readonly #sockets: WebSocketServer;
  readonly #timer: NodeJS.Timeout;

  constructor(options: MuxServerOptions) {
    this.#options = options;
    this.#sockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: MESSAGE_MAX_BYTES,
      handleProtocols: (offered) => (offered.has(MUX_PROTOCOL) ? MUX_PROTOCOL : false),
    });
    this.#timer = setInterval(() => this.#watch(), options.pingMs ?? PING_MS);
    this.#timer.unref();
  }

  /** Throws VivError before anything was answered. */
  accept(req: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { edge, keys, metrics, log } = this.#options;
    const offered = (req.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
    const fromProtocol = offered.find((name) => name.startsWith(KEY_SUBPROTOCOL))?.slice(KEY_SUBPROTOCOL.length);
    const key = authenticate(keys, presentedSecret(req.headers) ?? fromProtocol);
    authorize(key, ['sandboxes']);
    if (!offered.includes(MUX_PROTOCOL))
      throw new VivError('invalid_argument', `the WebSocket must offer the subprotocol ${MUX_PROTOCOL}`);
    this.#sockets.handleUpgrade(req, socket, head, (ws) => {
      const connection = new Connection({
        ws,
        socket,
        edge,
        key,
        log,
        channels: (change) => metrics.channels.inc(change),
      });
      this.#connections.add(connection);
      metrics.connections.inc();
      ws.on('close', () => {
        this.#connections.delete(connection);
        metrics.connections.dec();
      });
    });
  }

  close(): void {
    clearInterval(this.#timer);
    for (const connection of this.#connections) connection.goAway();
  }

  #watch(): void {
    const silence = this.#options.pingMs === undefined ? SILENCE_MS : 3 * this.#options.pingMs;
    const now = performance.now();
    for (const connection of this.#connections) {
      if (now - connection.heardMs > silence) connection.terminate();
      else connection.ping();
    }
  }
}
