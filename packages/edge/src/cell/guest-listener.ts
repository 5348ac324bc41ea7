import type { Duplex } from 'node:stream';
import type { VivError } from '@vivarium/protocol';
import type { CellListener, RetainedListener } from './cell-listener.ts';
import { FRAME, violation } from './frame.ts';
import type { CellStream } from './link.ts';
import { PORT_WINDOW, PortStream } from './port-stream.ts';
import type { RetainedState } from './retained-state.ts';
import type { Session } from './session.ts';

/** Connections that are held until somebody wants them. */
const WAITING_MAX = 64;

/** A listener in the guest that is up: LISTEN was answered, now or on an earlier connection. */
export class GuestListener implements CellStream, CellListener {
  readonly #session: Session;
  readonly stream: number;
  readonly port: number;
  readonly tag: Uint8Array;
  readonly #window: number;
  #callback: ((connection: Duplex) => void) | null = null;
  #waiting: PortStream[] = [];
  #open = true;

  constructor(session: Session, stream: number, port: number, tag: Uint8Array, window = PORT_WINDOW) {
    this.#session = session;
    this.stream = stream;
    this.port = port;
    this.tag = tag;
    this.#window = window;
  }

  get retained(): RetainedListener {
    return { stream: this.stream, tag: this.tag };
  }

  onConnection(callback: (connection: Duplex) => void): void {
    this.#callback = callback;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const connection of waiting) callback(connection);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    for (const connection of this.#waiting) connection.destroy();
    this.#session.sendShort(FRAME.RELEASE, this.stream);
    this.#session.forget(this.stream, 0);
  }

  /** OPENED: a connection came in. */
  opened(stream: number): void {
    if (this.#waiting.length === WAITING_MAX) return this.#session.sendShort(FRAME.CANCEL, stream);
    const connection = PortStream.accept(this.#session, stream, this.#window);
    if (this.#callback) this.#callback(connection);
    else this.#waiting.push(connection);
  }

  frame(type: number): void {
    throw violation(`frame of type ${type} on a listener`);
  }

  data(): void {
    throw violation('data on a listener');
  }

  disconnected(): boolean {
    return true;
  }

  reconnected(state: RetainedState | null): void {
    if (state === null) {
      this.#open = false;
      this.#session.forget(this.stream, 0);
    } else if (state.kind !== 'listener') {
      throw violation(`STATE says ${state.kind} about a listener`);
    }
  }

  lost(_error: VivError): void {
    this.#open = false;
  }
}
