import type { ClientMessage, MuxOpInput, ServerMessage } from '@vivarium/protocol/mux.ts';
import { Sub } from '@vivarium/protocol/mux-frame.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { Inlet } from './inlet.ts';
import { Outlet } from './outlet.ts';

/** What a channel is for and how it comes back after the connection broke. */
export type ChannelSpec = {
  /** The request for the first opening. */
  open: MuxOpInput;
  /** The request that carries on after a break; absent: the channel ends with `connection_lost`. */
  reopen?: () => MuxOpInput;
  /** Sub-channels that bring data. */
  inlets?: readonly number[];
  /** Does this side send data on sub-channel 0? */
  outlet?: boolean;
  /** Input lost in a break is no error (a person types it again). */
  lossyInput?: boolean;
  onEvent?(event: Record<string, unknown> & { type?: string }): void;
  /** After each opening; `again` from the second on. */
  onOpened?(result: unknown, again: boolean): void;
};

/** The connection as a channel sees it. */
export type Wire = {
  message(message: ClientMessage | { t: 'open'; ch: number; req: MuxOpInput }): void;
  data(ch: number, sub: number, chunk: Uint8Array): void;
  forget(channel: Channel): void;
};

/** One operation on the multiplexed connection. Its number changes with each reconnect, its streams do not. */
export class Channel {
  readonly spec: ChannelSpec;
  readonly inlets = new Map<number, Inlet>();
  readonly outlet: Outlet;
  /** The server's first answer. */
  readonly opened: Promise<unknown>;
  /** Resolves when the server ended the channel, rejects when it failed. */
  readonly closed: Promise<void>;
  /** 0 while there is no connection. */
  ch = 0;
  /** Has it ever been opened? */
  everOpened = false;
  /** Openings refused in a row with something that heals. */
  refusals = 0;
  readonly #wire: Wire;
  #finished = false;
  #resolveOpened!: (result: unknown) => void;
  #rejectOpened!: (error: unknown) => void;
  #resolveClosed!: () => void;
  #rejectClosed!: (error: unknown) => void;

  constructor(spec: ChannelSpec, wire: Wire) {
    this.spec = spec;
    this.#wire = wire;
    this.opened = new Promise((resolve, reject) => {
      this.#resolveOpened = resolve;
      this.#rejectOpened = reject;
    });
    this.closed = new Promise((resolve, reject) => {
      this.#resolveClosed = resolve;
      this.#rejectClosed = reject;
    });
    // Whoever waits sees the rejection; nobody waiting is no crash.
    this.opened.catch(() => {});
    this.closed.catch(() => {});
    for (const sub of spec.inlets ?? []) {
      this.inlets.set(sub, new Inlet((limit) => this.send({ t: 'window', ch: this.ch, sub, limit })));
    }
    this.outlet = new Outlet({
      data: (chunk) => this.ch && this.#wire.data(this.ch, Sub.in, chunk),
      eof: () => this.send({ t: 'eof', ch: this.ch, sub: Sub.in }),
    });
  }

  get finished(): boolean {
    return this.#finished;
  }

  /** Sends a message about this channel; dropped while there is no connection. */
  send(message: ClientMessage): void {
    if (this.ch !== 0 && !this.#finished) this.#wire.message(message);
  }

  /** Sends the opening under a new number. */
  start(ch: number): void {
    this.ch = ch;
    for (const inlet of this.inlets.values()) inlet.restart();
    const again = this.everOpened && this.spec.reopen;
    this.#wire.message({ t: 'open', ch, req: again ? again() : this.spec.open });
  }

  /** The connection broke. False: this channel can't come back. */
  interrupt(): boolean {
    this.ch = 0;
    this.outlet.pause();
    return !this.everOpened || this.spec.reopen !== undefined;
  }

  /** A channel that the server opened needs no request. */
  adopt(ch: number): void {
    this.ch = ch;
    this.#markOpened(undefined);
  }

  handle(message: ServerMessage): void {
    if (message.t === 'opened') this.#markOpened(message.result);
    else if (message.t === 'event') this.spec.onEvent?.(message.event);
    else if (message.t === 'eof') this.inlets.get(message.sub)?.end();
    else if (message.t === 'window') this.outlet.grant(message.limit);
    else if (message.t === 'closed') this.finish(message.error === undefined ? undefined : asError(message.error));
  }

  data(sub: number, chunk: Uint8Array): void {
    this.inlets.get(sub)?.push(chunk);
  }

  /** Ends this channel on this side only: what runs in the sandbox runs on. */
  close(): void {
    if (this.#finished) return;
    this.send({ t: 'close', ch: this.ch });
    this.finish(undefined);
  }

  finish(error: VivError | undefined): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#wire.forget(this);
    for (const inlet of this.inlets.values()) error ? inlet.fail(error) : inlet.end();
    this.outlet.fail(error ?? new VivError('exec_not_running', 'the other end has closed'));
    if (error) {
      this.#rejectOpened(error);
      this.#rejectClosed(error);
      return;
    }
    this.#rejectOpened(new VivError('connection_lost', 'closed before the server answered'));
    this.#resolveClosed();
  }

  #markOpened(result: unknown): void {
    const again = this.everOpened;
    this.everOpened = true;
    this.refusals = 0;
    if (this.spec.outlet) this.outlet.start(this.spec.lossyInput ?? false);
    this.spec.onOpened?.(result, again);
    this.#resolveOpened(result);
  }
}

/** Errors travel as an error body or as its inner part. */
function asError(error: unknown): VivError {
  const inner = (error as { error?: unknown } | null)?.error;
  return VivError.fromBody(inner === undefined ? { error } : error);
}
