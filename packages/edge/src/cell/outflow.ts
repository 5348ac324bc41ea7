import { DATA_BYTES_MAX, readOffset, violation } from './frame.ts';
import type { Link } from './link.ts';

/** What the guest may send before the first WINDOW (docs/guest-protocol.md, "Flow control"). */
const FIRST_LIMIT = 65_536;
/** Most that is kept for sending again, whatever the guest allows. */
const KEPT_BYTES_MAX = 1_048_576;

export type Done = (error?: Error | null) => void;
type Pending = { bytes: Uint8Array; done: Done | null };

/** One down-channel (to stdin, a file, a connection): sends what credit and connection allow, keeps the rest in order. */
export class Outflow {
  readonly #link: Link;
  readonly #stream: number;
  /** Processes: bytes the guest has not acknowledged are kept for the next connection. */
  readonly #retain: boolean;
  #sent: number;
  #acked: number;
  #limit: number;
  #queue: Pending[] = [];
  #kept: Uint8Array[] = [];
  #closing = false;
  #eofSent = false;
  #dead: Error | null = null;
  /** The guest discards everything: nobody reads any more. */
  #sink = false;

  constructor(link: Link, stream: number, retain: boolean, from = 0) {
    this.#link = link;
    this.#stream = stream;
    this.#retain = retain;
    this.#sent = from;
    this.#acked = from;
    this.#limit = from === 0 ? FIRST_LIMIT : from;
  }

  get closed(): boolean {
    return this.#eofSent;
  }

  /** `done` is called when all of it is sent (or can never be). The bytes must not change afterwards. */
  write(bytes: Uint8Array, done: Done): void {
    if (this.#dead) return done(this.#dead);
    if (this.#closing || this.#sink || bytes.length === 0) return done(null);
    this.#queue.push({ bytes, done });
    if (this.#queue.length === 1) this.pump();
  }

  /** EOF follows the last byte. */
  close(): void {
    if (this.#closing) return;
    this.#closing = true;
    this.pump();
  }

  /** Ends it: what is queued is answered with the error, or as done without one (the reader has gone). */
  abandon(error: Error | null): void {
    this.#dead = error;
    if (error === null) this.#sink = true;
    this.#kept = [];
    const queue = this.#queue;
    this.#queue = [];
    for (const pending of queue) pending.done?.(error);
  }

  /** WINDOW payload from the guest. */
  window(payload: Buffer): void {
    if (payload.readUInt32LE(8) === 0xffff_ffff && payload.readUInt32LE(12) === 0xffff_ffff) return this.abandon(null);
    const acked = readOffset(payload, 0);
    const limit = readOffset(payload, 8);
    if (acked > this.#sent) throw violation(`ack of ${acked} after ${this.#sent} bytes`);
    if (acked < this.#acked || limit < this.#limit) throw violation('a window that shrinks');
    this.#forget(acked);
    this.#limit = limit;
    this.pump();
  }

  /** Sends what may be sent. Also called when the connection takes data again. */
  pump(): void {
    if (this.#sink) return;
    for (;;) {
      const head = this.#queue[0];
      if (head === undefined) break;
      const room = this.#room();
      if (room <= 0 || this.#link.blocked(this)) return;
      const piece = head.bytes.length <= room ? head.bytes : head.bytes.subarray(0, room);
      this.#link.sendData(this.#stream, this.#sent, piece);
      this.#sent += piece.length;
      if (this.#retain) this.#kept.push(piece);
      if (piece.length < head.bytes.length) {
        head.bytes = head.bytes.subarray(piece.length);
        continue;
      }
      this.#queue.shift();
      head.done?.(null);
    }
    if (!this.#closing || this.#eofSent) return;
    this.#eofSent = true;
    this.#link.sendEof(this.#stream, this.#sent);
  }

  /** After a reconnect: the guest has `received` bytes; the rest is sent again. */
  resume(received: number): void {
    if (this.#sink) return;
    if (received < this.#acked || received > this.#sent)
      throw violation(`${received} bytes of stdin received after ${this.#sent}`);
    this.#forget(received);
    const again = this.#kept.map((bytes): Pending => ({ bytes, done: null }));
    this.#kept = [];
    this.#queue = [...again, ...this.#queue];
    this.#sent = received;
    this.#eofSent = false;
    this.pump();
  }

  #room(): number {
    const limit = this.#retain ? Math.min(this.#limit, this.#acked + KEPT_BYTES_MAX) : this.#limit;
    return Math.min(DATA_BYTES_MAX, limit - this.#sent);
  }

  #forget(acked: number): void {
    let drop = acked - this.#acked;
    this.#acked = acked;
    while (this.#retain && drop > 0) {
      const first = this.#kept[0] as Uint8Array;
      if (first.length > drop) {
        this.#kept[0] = first.subarray(drop);
        return;
      }
      drop -= first.length;
      this.#kept.shift();
    }
  }
}
