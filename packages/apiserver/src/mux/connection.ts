import type { Duplex } from 'node:stream';
import type { Edge } from '@vivarium/edge/edge.ts';
import { ClientMessage, type Key, MuxOp, type ServerMessage, VivError } from '@vivarium/protocol';
import { MUX_CHANNELS_MAX, MUX_DATA_MAX_BYTES, MUX_HEADER_BYTES } from '@vivarium/protocol/mux-frame.ts';
import type { Logger } from 'pino';
import type { WebSocket } from 'ws';
import { parseJson } from '../http/body.ts';
import { presentable } from '../http/failure.ts';
import { ownerOf } from '../http/identity.ts';
import { check } from '../http/issues.ts';
import { ownEdge } from '../tenancy/own-edge.ts';
import type { Channel, Wire } from './channel.ts';
import { openChannel } from './open-channel.ts';
import { Outbox } from './outbox.ts';
import { PortChannel } from './port-channel.ts';
import { ProtocolViolation } from './violation.ts';

/** Input of all channels together that nobody has taken yet. */
const HELD_MAX_BYTES = 128 * 1024 * 1024;
/** Answers that the client doesn't read: nothing more is read from it. */
const ANSWERS_MAX_BYTES = 8 * 1024 * 1024;

export type ConnectionOptions = {
  ws: WebSocket;
  socket: Duplex;
  edge: Edge;
  key: Key;
  log: Logger;
  channels(change: number): void;
};

/** One client's connection: its channels, and the rules it must keep. */
export class Connection {
  /** When the client was last heard of, monotonic ms. */
  heardMs = performance.now();
  readonly #options: ConnectionOptions;
  readonly #outbox: Outbox;
  readonly #channels = new Map<number, Channel>();
  readonly #wire: Wire;
  #highestClientCh = 0;
  #nextServerCh = 2;
  #heldBytes = 0;
  #closed = false;

  constructor(options: ConnectionOptions) {
    const { ws, socket, edge, key, log } = options;
    this.#options = options;
    this.#outbox = new Outbox(ws, socket);
    this.#wire = {
      edge: ownEdge(edge, key),
      key,
      owner: ownerOf(key),
      outbox: this.#outbox,
      opened: (ch, result) => this.#say({ t: 'opened', ch, result }),
      event: (ch, event) => this.#say({ t: 'event', ch, event }),
      eof: (ch, sub) => this.#say({ t: 'eof', ch, sub }),
      window: (ch, sub, limit) => this.#say({ t: 'window', ch, sub, limit }),
      held: (bytes) => this.#held(bytes),
      finish: (ch, error) => this.#finish(ch, error),
      adopt: (listener, stream) => this.#adopt(listener, stream),
      failed: (error) => presentable(error, log, { at: 'connection' }),
    };
    ws.on('message', (data: Buffer, isBinary: boolean) => this.#receive(data, isBinary));
    ws.on('pong', () => this.#heard());
    ws.on('ping', () => this.#heard());
    ws.on('error', () => {});
    ws.on('close', () => this.#close());
  }

  ping(): void {
    if (this.#options.ws.readyState === this.#options.ws.OPEN) this.#options.ws.ping();
  }

  /** The client is gone, without a goodbye. */
  terminate(): void {
    this.#options.ws.terminate();
  }

  /** 1001 when the server stops. */
  goAway(): void {
    this.#options.ws.close(1001, 'the server is stopping');
  }

  #heard(): void {
    this.heardMs = performance.now();
  }

  #receive(data: Buffer, isBinary: boolean): void {
    this.#heard();
    if (this.#closed) return;
    try {
      if (isBinary) this.#receiveData(data);
      else this.#receiveMessage(data.toString('utf8'));
      if (this.#outbox.waitingBytes > ANSWERS_MAX_BYTES) this.#waitForReader();
    } catch (error) {
      const reason = error instanceof ProtocolViolation ? error.message : this.#wire.failed(error).message;
      this.#options.ws.close(1008, reason.slice(0, 120));
      this.#close();
      // A client that breaks the rules may not answer the goodbye either.
      setTimeout(() => this.#options.ws.terminate(), 1_000).unref();
    }
  }

  #receiveData(data: Buffer): void {
    const length = data.length - MUX_HEADER_BYTES;
    if (length < 1 || length > MUX_DATA_MAX_BYTES)
      throw new ProtocolViolation(`a data message has 1 to ${MUX_DATA_MAX_BYTES} bytes after its header`);
    const ch = data.readUInt32LE(0);
    const sub = data[4]!;
    if (data[5] !== 0 || data[6] !== 0 || data[7] !== 0)
      throw new ProtocolViolation('the last three bytes of a header are zero');
    const channel = this.#channels.get(ch);
    if (channel) channel.data(sub, data.subarray(MUX_HEADER_BYTES));
    else if (!this.#hasBeen(ch)) throw new ProtocolViolation(`channel ${ch} was never opened`);
  }

  #receiveMessage(text: string): void {
    const raw = parse(text);
    if (raw.t === 'open') return this.#open(raw);
    const parsed = ClientMessage.safeParse(raw);
    if (!parsed.success) throw new ProtocolViolation(`not a message of this protocol: ${text.slice(0, 60)}`);
    const message = parsed.data;
    if (message.t === 'ping') return this.#say({ t: 'pong' });
    if (message.t === 'open') return;
    const channel = this.#channels.get(message.ch);
    if (!channel) {
      if (!this.#hasBeen(message.ch)) throw new ProtocolViolation(`channel ${message.ch} was never opened`);
      return;
    }
    if (message.t === 'eof') channel.eof(message.sub);
    else if (message.t === 'window') channel.window(message.sub, message.limit);
    else if (message.t === 'signal') channel.signal(message.signal, message.scope);
    else if (message.t === 'resize') channel.resize(message.size);
    else this.#finish(message.ch);
  }

  /** A request that makes no sense ends its channel only; a channel number that makes no sense ends the connection. */
  #open({ ch, req }: Record<string, unknown>): void {
    if (typeof ch !== 'number' || !Number.isInteger(ch) || ch < 1 || ch > 0xffff_ffff || ch % 2 === 0)
      throw new ProtocolViolation('a client opens odd channels from 1 to 4294967295');
    if (this.#channels.has(ch)) throw new ProtocolViolation(`channel ${ch} is open already`);
    this.#highestClientCh = Math.max(this.#highestClientCh, ch);
    try {
      if (this.#channels.size >= MUX_CHANNELS_MAX)
        throw new VivError('too_many_requests', `the connection has ${MUX_CHANNELS_MAX} channels open`);
      const op = check(MuxOp, req);
      this.#add(ch, openChannel(this.#wire, ch, op));
    } catch (error) {
      if (error instanceof ProtocolViolation) throw error;
      this.#say({ t: 'closed', ch, error: this.#wire.failed(error).toBody() });
    }
  }

  #add(ch: number, channel: Channel): void {
    this.#channels.set(ch, channel);
    this.#options.channels(1);
  }

  #adopt(listener: number, stream: Duplex): void {
    if (this.#closed || !this.#channels.has(listener) || this.#channels.size >= MUX_CHANNELS_MAX)
      return void stream.destroy();
    const ch = this.#nextServerCh;
    this.#nextServerCh += 2;
    this.#say({ t: 'event', ch: listener, event: { type: 'connection', conn: ch } });
    this.#add(ch, new PortChannel(this.#wire, ch, Promise.resolve(stream), false));
  }

  #finish(ch: number, error?: unknown): void {
    const channel = this.#channels.get(ch);
    if (!channel) return;
    this.#channels.delete(ch);
    this.#options.channels(-1);
    channel.close();
    this.#say(
      error === undefined ? { t: 'closed', ch } : { t: 'closed', ch, error: this.#wire.failed(error).toBody() },
    );
  }

  #held(bytes: number): void {
    this.#heldBytes += bytes;
    if (bytes > 0 && this.#heldBytes > HELD_MAX_BYTES)
      throw new ProtocolViolation(`more than ${HELD_MAX_BYTES} bytes of input that nobody takes`);
  }

  #hasBeen(ch: number): boolean {
    return ch % 2 === 1 ? ch <= this.#highestClientCh : ch > 0 && ch < this.#nextServerCh;
  }

  #waitForReader(): void {
    const { ws, socket } = this.#options;
    if (ws.isPaused) return;
    ws.pause();
    socket.once('drain', () => ws.resume());
  }

  #say(message: ServerMessage): void {
    if (!this.#closed) this.#outbox.message(message);
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#outbox.close();
    for (const channel of this.#channels.values()) channel.close();
    this.#options.channels(-this.#channels.size);
    this.#channels.clear();
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = parseJson(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    if (VivError.from(error).code === 'invalid_argument') throw new ProtocolViolation((error as Error).message);
  }
  throw new ProtocolViolation('a text message is one JSON object');
}
