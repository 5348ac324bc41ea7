import type { Duplex } from 'node:stream';
import { VivError } from '@vivarium/protocol';
import type { GuestConfig } from '../drivers/driver.ts';
import { configFrame } from './config.ts';
import { Connection, type ConnectionOwner, type GuestHello } from './connection.ts';
import { bounded } from './deadline.ts';
import { CONFIG_REQUEST } from './failure.ts';
import { FRAME, violation } from './frame.ts';
import type { CellStream, Link } from './link.ts';
import type { Outflow } from './outflow.ts';
import { ReconnectPolicy } from './reconnect-policy.ts';
import { Request, type RequestOptions } from './request.ts';
import type { RetainedState } from './retained-state.ts';
import { eofFrame, windowFrame, wordsFrame } from './short-frame.ts';
import { type StreamSource, StreamTable } from './stream-table.ts';

export type SessionOptions = {
  connect: () => Promise<Duplex>;
  config: GuestConfig;
  onLost: (error: VivError) => void;
} & StreamSource;

/** connect(), the handshake and CONFIG, each. */
const HANDSHAKE_MS = 10_000;
/** A request that meets a broken connection waits this long for the next. */
const WAIT_MS = 30_000;

type Waiter = { resolve: () => void; reject: (error: VivError) => void };

/** Keeps one guest connected, and sends and receives for its streams while it is. */
export class Session implements Link, ConnectionOwner {
  readonly #options: SessionOptions;
  readonly #policy = new ReconnectPolicy();
  readonly #streams: StreamTable;
  #connection: Connection | null = null;
  /** Requests may be sent: connected and configured. */
  #up = false;
  #over: VivError | null = null;
  #blocked: Set<Outflow> | null = null;
  #waiters: Waiter[] = [];
  #handshake: Waiter | null = null;
  #hello: GuestHello | null = null;
  #connecting = false;
  /** Why the latest connection, or attempt at one, ended. */
  #endedBy: VivError | null = null;
  #pings: Waiter[] = [];
  #traffic = { up: 0, down: 0, connections: 0 };
  paused = false;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#streams = new StreamTable(this, options);
  }

  get bootNonce(): Uint8Array {
    return this.#hello?.bootNonce ?? new Uint8Array(16);
  }

  get stats(): { bytesUp: number; bytesDown: number; reconnects: number; protocolErrors: number } {
    return {
      bytesUp: this.#traffic.up + (this.#connection?.bytesUp ?? 0),
      bytesDown: this.#traffic.down + (this.#connection?.bytesDown ?? 0),
      reconnects: Math.max(0, this.#traffic.connections - 1),
      protocolErrors: this.#policy.violations,
    };
  }

  get connected(): boolean {
    return this.#up;
  }

  /** Connects for the first time. Rejects with `sandbox_lost` or what else kept it from connecting. */
  async open(): Promise<void> {
    await this.#keepConnecting();
    if (this.#over) throw this.#over;
  }

  /** Ends the connection for good; the guest lives on. What is under way fails with the error. */
  close(error = new VivError('connection_lost', 'the connection to the sandbox was closed')): void {
    this.#finish(error);
  }

  /** null when requests can be sent now; else resolves when they can. Rejects `sandbox_lost`, `request_timeout`. */
  whenUp(): Promise<void> | null {
    if (this.#up) return null;
    if (this.#over) return Promise.reject(this.#over);
    return bounded(this, WAIT_MS, 'new connection to the sandbox', (waiter) => this.#waiters.push(waiter));
  }

  /** Registers a new stream; its opening frame must follow at once. */
  add(stream: CellStream): number {
    return this.#streams.add(stream);
  }

  /** Registers a stream that exists in the guest already. */
  place(id: number, stream: CellStream): void {
    this.#streams.place(id, stream);
  }

  /** Sends a request that is answered by OK and returns what `parse` makes of OK's payload. */
  async request<T>(
    build: (stream: number) => Buffer,
    options: RequestOptions,
    parse: (payload: Buffer) => T,
  ): Promise<T> {
    const wait = this.whenUp();
    if (wait) await wait;
    return new Request(this, options, parse).send(build);
  }

  /** Resolves with the guest's answer. */
  async ping(): Promise<void> {
    const wait = this.whenUp();
    if (wait) await wait;
    return bounded(this, WAIT_MS, 'answer to PING', (waiter) => {
      this.#pings.push(waiter);
      this.sendShort(FRAME.PING, 0, this.#pings.length, 0);
    });
  }

  send(frame: Buffer): void {
    if (this.#up) this.#connection?.send(frame);
  }

  sendShort(type: number, stream: number, ...words: number[]): void {
    if (this.#up) this.#connection?.send(wordsFrame(type, stream, words));
  }

  sendWindow(chan: number, stream: number, acked: number, limit: number): void {
    if (this.#up) this.#connection?.send(windowFrame(chan, stream, acked, limit));
  }

  sendEof(stream: number, final: number): void {
    if (this.#up) this.#connection?.send(eofFrame(stream, final));
  }

  sendData(stream: number, offset: number, bytes: Uint8Array): void {
    this.#connection?.sendData(stream, offset, bytes);
  }

  blocked(outflow: Outflow): boolean {
    if (!this.#up || this.#connection === null) return true;
    if (!this.#connection.full) return false;
    this.#blocked ??= new Set();
    this.#blocked.add(outflow);
    return true;
  }

  forget(stream: number, lateBytes: number): void {
    this.#streams.forget(stream, lateBytes);
  }

  // ---- what the connection reports

  greeted(hello: GuestHello, states: RetainedState[]): void {
    if (this.#hello !== null && !this.#hello.bootNonce.equals(hello.bootNonce)) {
      throw new VivError('sandbox_lost', 'another PID 1 answers: the sandbox was restarted from outside');
    }
    if (!hello.configured && states.length > 0) throw violation('retained streams before CONFIG');
    this.#hello = hello;
    this.#handshake?.resolve();
    if (hello.configured) this.#rise(states);
  }

  frame(type: number, chan: number, id: number, payload: Buffer): void {
    if (id === 0) this.#connectionFrame(type, payload);
    else this.#streams.frame(type, chan, id, payload);
  }

  data(chan: number, id: number, offset: number, piece: Buffer): void {
    this.#streams.data(chan, id, offset, piece);
  }

  drained(): void {
    const blocked = this.#blocked;
    this.#blocked = null;
    for (const outflow of blocked ?? []) outflow.pump();
  }

  closed(error: VivError): void {
    const was = this.#connection;
    this.#connection = null;
    if (was) {
      this.#traffic.up += was.bytesUp;
      this.#traffic.down += was.bytesDown;
    }
    this.#handshake?.reject(error);
    if (this.#over) return;
    this.#up = false;
    this.#endedBy = error;
    this.#fall(
      error.code === 'connection_lost' ? error : new VivError('connection_lost', error.message, { cause: error }),
    );
    void this.#keepConnecting();
  }

  /** One attempt after another until connected or over; one loop at a time. Never rejects. */
  async #keepConnecting(): Promise<void> {
    if (this.#connecting) return;
    this.#connecting = true;
    while (!this.#over && !this.#up) {
      const error = this.#endedBy;
      this.#endedBy = null;
      if (error !== null) {
        const delayMs = this.#policy.failed(error, performance.now(), this.paused);
        if (delayMs === null) this.#lose(error);
        else if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
      }
      if (!this.#over) await this.#attempt();
    }
    this.#connecting = false;
  }

  async #attempt(): Promise<void> {
    try {
      await this.#connectOnce();
    } catch (thrown) {
      const error = VivError.from(thrown);
      this.#connection?.end(error);
      this.#endedBy ??= error;
    }
  }

  async #connectOnce(): Promise<void> {
    const socket = await bounded<Duplex>(this, HANDSHAKE_MS, 'connection to PID 1', ({ resolve, reject }) => {
      let late = false;
      this.#options.connect().then((made) => (late ? made.destroy() : resolve(made)), reject);
      return () => {
        late = true;
      };
    });
    if (this.#over) {
      socket.destroy();
      throw this.#over;
    }
    await bounded(this, HANDSHAKE_MS, 'HELLO of PID 1', (waiter) => {
      this.#handshake = waiter;
      this.#connection = new Connection(socket, this);
    });
    this.#handshake = null;
    if (this.#up || !this.#connection) return;
    await this.#configure(this.#connection);
  }

  /** The first connection of a boot: CONFIG before anything else. */
  async #configure(connection: Connection): Promise<void> {
    const options = { what: CONFIG_REQUEST, timeoutMs: HANDSHAKE_MS };
    await new Request(this, options, () => {}).send((stream) => configFrame(this.#options.config, stream), connection);
    if (this.#connection === connection) this.#rise([]);
  }

  #rise(states: RetainedState[]): void {
    const first = this.#traffic.connections === 0;
    this.#traffic.connections++;
    this.#blocked = null;
    this.#up = true;
    this.#policy.connected(performance.now());
    this.#streams.reconcile(states, first);
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.resolve();
  }

  #fall(error: VivError): void {
    this.#streams.disconnected(error);
    const pings = this.#pings;
    this.#pings = [];
    for (const ping of pings) ping.reject(error);
  }

  #lose(error: VivError): void {
    if (this.#over) return;
    const lost =
      error.code === 'sandbox_lost'
        ? error
        : new VivError('sandbox_lost', `PID 1 can't be reached: ${error.message}`, { cause: error });
    const wasUp = this.#traffic.connections > 0;
    this.#finish(wasUp ? lost : error);
    if (wasUp) this.#options.onLost(lost);
  }

  #finish(error: VivError): void {
    if (this.#over) return;
    this.#over = error;
    this.#up = false;
    const waiters = [...this.#waiters, ...this.#pings];
    this.#waiters = [];
    this.#pings = [];
    this.#connection?.end(error);
    this.#streams.lost(error);
    for (const waiter of waiters) waiter.reject(error);
  }

  #connectionFrame(type: number, payload: Buffer): void {
    if (type === FRAME.PING) return this.sendShort(FRAME.PONG, 0, payload.readUInt32LE(0), payload.readUInt32LE(4));
    const ping = type === FRAME.PONG ? this.#pings.shift() : undefined;
    if (!ping) throw violation(`frame of type ${type} that nothing asked for`);
    ping.resolve();
  }
}
