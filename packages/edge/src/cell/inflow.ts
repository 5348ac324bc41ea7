import { violation } from './frame.ts';

/** The guest must never be left without credit because an ack was held back: see `due`. */
const HOLD_BACK = 4;

/**
 * One up-channel as the host accounts for it. Positions are absolute. `wire` is what the present connection has carried; after a
 * reconnect it may lie before `received`: those bytes come a second time and are skipped.
 */
export class Inflow {
  received: number;
  final = -1;
  #wire: number;
  /** What the consumer has given and what the guest has been told. */
  #acked: number;
  #limit: number;
  #toldAcked: number;
  #toldLimit: number;
  #window: number;

  constructor(window: number, from = 0) {
    this.received = from;
    this.#wire = from;
    this.#acked = from;
    this.#limit = from + window;
    this.#toldAcked = from;
    this.#toldLimit = from + window;
    this.#window = window;
  }

  get acked(): number {
    return this.#acked;
  }
  get limit(): number {
    return this.#limit;
  }
  get ended(): boolean {
    return this.final >= 0 && this.received === this.final;
  }

  /** Bytes the guest may still send. */
  get outstanding(): number {
    return Math.max(0, this.#toldLimit - this.#wire);
  }

  /** Checks a piece of data and moves on. Returns how many bytes at its start are repeats. */
  accept(offset: number, length: number): number {
    if (offset !== this.#wire) throw violation(`data at ${offset} instead of ${this.#wire}`);
    const end = offset + length;
    if (end > this.#toldLimit) throw violation(`data up to ${end} beyond the limit ${this.#toldLimit}`);
    if (this.final >= 0 && end > this.final) throw violation(`data up to ${end} beyond the end ${this.final}`);
    this.#wire = end;
    const repeats = Math.min(length, Math.max(0, this.received - offset));
    if (end > this.received) this.received = end;
    return repeats;
  }

  /** EOF frame. Returns whether it is news (after a reconnect the guest may say it again). */
  finish(final: number): boolean {
    if (final !== this.#wire) throw violation(`end at ${final} after data up to ${this.#wire}`);
    const news = this.final < 0;
    if (!news && final !== this.final) throw violation(`a second end at ${final} instead of ${this.final}`);
    this.final = final;
    return news;
  }

  /** The consumer's ack. Neither value shrinks. */
  grant(acked: number, limit: number): void {
    this.#acked = Math.max(this.#acked, Math.min(acked, this.received));
    this.#limit = Math.max(this.#limit, limit);
    this.#window = Math.max(this.#window, this.#limit - this.#acked);
  }

  /**
   * Is it time to tell the guest? Held back while it has at least half a window of credit and would gain less than a quarter, so that a
   * WINDOW covers several acks.
   */
  get due(): boolean {
    if (this.#limit === this.#toldLimit && this.#acked === this.#toldAcked) return false;
    if (this.final >= 0) return false;
    const gain = Math.max(this.#limit - this.#toldLimit, this.#acked - this.#toldAcked);
    return gain * HOLD_BACK >= this.#window || (this.#toldLimit - this.#wire) * 2 < this.#window;
  }

  told(): void {
    this.#toldAcked = this.#acked;
    this.#toldLimit = this.#limit;
  }

  /** A new connection: the guest starts again at what was acknowledged, once it is told so. */
  rewind(): void {
    this.#wire = this.#acked;
    this.told();
  }
}
