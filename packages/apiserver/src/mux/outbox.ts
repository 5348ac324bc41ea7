import type { Duplex } from 'node:stream';
import type { ServerMessage } from '@vivarium/protocol';
import type { WebSocket } from 'ws';
import { dataFrame, releaseFrame } from './frame-pool.ts';

/** More than this waiting for the client's machine: nothing more is taken from the edge. */
export const OUTBOX_FULL_BYTES = 1_048_576;

/** What goes to one client. Whoever sends much asks for `room()` first; those who wait are served in turn. */
export class Outbox {
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  #waiting: (() => void)[] = [];
  #closed = false;

  constructor(ws: WebSocket, socket: Duplex) {
    this.#ws = ws;
    this.#socket = socket;
    socket.on('drain', () => this.#wake());
  }

  /** Bytes that the client's machine has not taken yet. */
  get waitingBytes(): number {
    return this.#socket.writableLength;
  }

  message(message: ServerMessage): void {
    if (!this.#closed) this.#ws.send(JSON.stringify(message), ignore);
  }

  data(ch: number, sub: number, chunk: Uint8Array): void {
    if (this.#closed) return;
    const frame = dataFrame(ch, sub, chunk);
    this.#ws.send(frame, { binary: true }, () => {
      releaseFrame(frame);
      this.#wake();
    });
  }

  /** Resolves when the client keeps up; at once if it does, or if it is gone. */
  room(): Promise<void> | undefined {
    if (this.#closed || (this.#waiting.length === 0 && this.waitingBytes < OUTBOX_FULL_BYTES)) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  close(): void {
    this.#closed = true;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** One after the other, each sending before the next is asked: a thousand that wait must not all send at once. */
  #wake(): void {
    if (this.#waiting.length === 0 || this.waitingBytes >= OUTBOX_FULL_BYTES) return;
    this.#waiting.shift()?.();
    setImmediate(() => this.#wake());
  }
}

/** A failed send means that the connection is going; its close event says so. */
const ignore = () => {};
