import type { ServerMessage } from '@vivarium/protocol/mux.ts';
import { MUX_HEADER_BYTES } from '@vivarium/protocol/mux-frame.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { Channel, type ChannelSpec, type Wire } from './channel.ts';
import type { Config } from './config.ts';
import { backoffMs, heals, sleep } from './retry.ts';
import { openSocket, type Socket } from './socket.ts';

/** Asks whether the server is still there, and how long silence may last. */
const PING_MS = 15_000;
const SILENCE_MS = 45_000;
/** A connection that breaks sooner than this counts as one that never worked; so many in a row, and it is given up. */
const FLAP_MS = 1_000;
const FLAPS_MAX = 10;
/** An unused connection is closed. */
const IDLE_MS = 30_000;

/**
 * One WebSocket for everything that streams: execs, ports, watches, leases, logs, events, of any number of sandboxes.
 * Opens with the first channel, comes back by itself, re-opens its channels where they were, closes when unused.
 */
export class Mux {
  readonly #config: Config;
  readonly #channels = new Map<number, Channel>();
  /** Wanted, but not on the connection now. */
  readonly #pending = new Set<Channel>();
  readonly #wire: Wire;
  #socket: Socket | undefined;
  #connecting = false;
  #nextCh = 1;
  #lastHeard = 0;
  #openedAt = 0;
  /** Connections in a row that broke as soon as they were open. */
  #flaps = 0;
  #pinger: ReturnType<typeof setInterval> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(config: Config) {
    this.#config = config;
    this.#wire = {
      message: (message) => this.#socket?.send(JSON.stringify(message)),
      data: (ch, sub, chunk) => this.#sendData(ch, sub, chunk),
      forget: (channel) => this.#forget(channel),
    };
  }

  get connected(): boolean {
    return this.#socket !== undefined;
  }

  /** Starts an operation; `channel.opened` is the server's answer. */
  open(spec: ChannelSpec): Channel {
    if (this.#closed) throw new VivError('invalid_argument', 'the client is closed');
    const channel = new Channel(spec, this.#wire);
    this.#start(channel);
    return channel;
  }

  /** A channel that the server opened (a connection of a listener). */
  adopt(ch: number, spec: Omit<ChannelSpec, 'open'>): Channel {
    const channel = new Channel({ ...spec, open: { op: 'events' } }, this.#wire);
    this.#channels.set(ch, channel);
    channel.adopt(ch);
    return channel;
  }

  /** Ends all channels on this side and the connection. What runs in sandboxes runs on. */
  close(): void {
    this.#closed = true;
    for (const channel of [...this.#channels.values(), ...this.#pending]) channel.close();
    this.#drop();
  }

  #start(channel: Channel): void {
    clearTimeout(this.#idle);
    this.#idle = undefined;
    if (!this.#socket) {
      this.#pending.add(channel);
      void this.#connect();
      return;
    }
    if (this.#channels.size === 0) this.#socket.keepAlive(true);
    const ch = this.#nextCh;
    this.#nextCh = ch >= 0xffff_fffd ? 1 : ch + 2;
    this.#channels.set(ch, channel);
    channel.start(ch);
  }

  async #connect(): Promise<void> {
    if (this.#connecting) return;
    this.#connecting = true;
    const wasOpen = [...this.#pending].some((channel) => channel.everOpened);
    const deadline = Date.now() + (wasOpen ? this.#config.reconnectMs : this.#config.retryMs);
    for (let attempt = 0; ; attempt++) {
      try {
        if (this.#flaps > 0) await sleep(backoffMs(this.#flaps));
        await this.#connectOnce();
        break;
      } catch (error) {
        const pause = backoffMs(attempt);
        if (!heals(error) || Date.now() + pause > deadline || this.#pending.size === 0) {
          this.#connecting = false;
          for (const channel of [...this.#pending]) channel.finish(VivError.from(error));
          return;
        }
        await sleep(pause);
      }
    }
    this.#connecting = false;
    const pending = [...this.#pending];
    this.#pending.clear();
    for (const channel of pending) this.#start(channel);
    if (this.#channels.size === 0) this.#rest();
  }

  async #connectOnce(): Promise<void> {
    let current: Socket | undefined;
    const socket = await openSocket(`${this.#config.url.replace(/^http/, 'ws')}/v1/connect`, this.#config.apiKey, {
      onText: (text) => this.#receiveText(text),
      onBinary: (bytes) => this.#receiveData(bytes),
      onClose: (error) => current === this.#socket && this.#lost(error),
    });
    current = socket;
    if (this.#closed) return socket.close();
    this.#socket = socket;
    this.#openedAt = this.#lastHeard = Date.now();
    this.#pinger = setInterval(() => this.#ping(), PING_MS);
    (this.#pinger as { unref?: () => void }).unref?.();
  }

  #ping(): void {
    const silent = Date.now() - this.#lastHeard;
    if (silent > SILENCE_MS) this.#lost(new VivError('connection_lost', `the server has been silent for ${silent} ms`));
    else if (silent >= PING_MS / 2) this.#socket?.send('{"t":"ping"}');
  }

  #receiveText(text: string): void {
    this.#lastHeard = Date.now();
    let message: ServerMessage;
    try {
      message = JSON.parse(text) as ServerMessage;
    } catch {
      this.#abandon(new VivError('internal', 'the server sent something that is no message'));
      return;
    }
    this.#receive(message);
  }

  #receive(message: ServerMessage): void {
    if (message.t === 'pong') return;
    const channel = this.#channels.get(message.ch);
    if (!channel) return; // Closed on this side while this was on its way.
    if (
      message.t === 'closed' &&
      !channel.everOpened &&
      message.error !== undefined &&
      this.#retryOpening(channel, message.error)
    )
      return;
    channel.handle(message);
  }

  #receiveData(bytes: Uint8Array): void {
    this.#lastHeard = Date.now();
    if (bytes.length <= MUX_HEADER_BYTES) return;
    const ch = (bytes[0]! | (bytes[1]! << 8) | (bytes[2]! << 16) | (bytes[3]! << 24)) >>> 0;
    this.#channels.get(ch)?.data(bytes[4]!, bytes.subarray(MUX_HEADER_BYTES));
  }

  #sendData(ch: number, sub: number, chunk: Uint8Array): void {
    const frame = new Uint8Array(MUX_HEADER_BYTES + chunk.length);
    new DataView(frame.buffer).setUint32(0, ch, true);
    frame[4] = sub;
    frame.set(chunk, MUX_HEADER_BYTES);
    this.#socket?.send(frame);
  }

  /** An opening that was refused before anything happened ("shutting down", "too many") is tried again, for retryMs in all. */
  #retryOpening(channel: Channel, error: unknown): boolean {
    const code = ((error as { error?: unknown }).error ?? error) as { code?: string; message?: string };
    if (!heals(VivError.fromBody({ error: { message: '', ...code } }))) return false;
    const pause = backoffMs(channel.refusals);
    if (2 ** channel.refusals * 100 > this.#config.retryMs) return false;
    channel.refusals++;
    this.#channels.delete(channel.ch);
    channel.interrupt();
    this.#pending.add(channel);
    setTimeout(() => {
      if (channel.finished || !this.#pending.delete(channel)) return;
      this.#start(channel);
    }, pause);
    return true;
  }

  #lost(error: VivError): void {
    this.#flaps = Date.now() - this.#openedAt < FLAP_MS ? this.#flaps + 1 : 0;
    if (this.#flaps > FLAPS_MAX) {
      this.#abandon(error);
      return;
    }
    this.#drop();
    for (const channel of [...this.#channels.values()]) {
      if (channel.interrupt()) this.#pending.add(channel);
      else channel.finish(error);
    }
    this.#channels.clear();
    if (this.#pending.size > 0 && !this.#closed) void this.#connect();
  }

  /** No use in coming back: everything ends with the error. */
  #abandon(error: VivError): void {
    this.#drop();
    this.#flaps = 0;
    for (const channel of [...this.#channels.values(), ...this.#pending]) channel.finish(error);
  }

  #forget(channel: Channel): void {
    this.#pending.delete(channel);
    if (channel.ch !== 0) this.#channels.delete(channel.ch);
    if (this.#channels.size === 0 && this.#pending.size === 0) this.#rest();
  }

  /** Nothing to do: lets the process end, and closes after a while. */
  #rest(): void {
    this.#socket?.keepAlive(false);
    if (this.#idle || !this.#socket) return;
    this.#idle = setTimeout(() => {
      this.#idle = undefined;
      if (this.#channels.size === 0 && this.#pending.size === 0) this.#drop();
    }, IDLE_MS);
    (this.#idle as { unref?: () => void }).unref?.();
  }

  #drop(): void {
    clearInterval(this.#pinger);
    clearTimeout(this.#idle);
    this.#idle = undefined;
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
  }
}
