import { MUX_DATA_MAX_BYTES, MUX_INITIAL_LIMIT_BYTES } from '@vivarium/protocol/mux-frame.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';

export type OutletSink = { data(chunk: Uint8Array): void; eof(): void };

/** The sending end of sub-channel 0: `write` resolves once the server has given credit for all of it. */
export class Outlet {
  #limit = MUX_INITIAL_LIMIT_BYTES;
  #sent = 0;
  #ready = false;
  #closed = false;
  #eofSent = false;
  #error: VivError | undefined;
  #wake: Array<() => void> = [];
  #tail: Promise<void> = Promise.resolve();
  readonly #sink: OutletSink;

  constructor(sink: OutletSink) {
    this.#sink = sink;
  }

  /** Writes go out in the order of the calls. */
  write(bytes: Uint8Array): Promise<void> {
    if (this.#closed) return Promise.reject(new VivError('invalid_argument', 'write after the input was closed'));
    return this.#enqueue(async () => {
      for (let at = 0; at < bytes.length; ) {
        await this.#credit();
        const end = Math.min(bytes.length, at + MUX_DATA_MAX_BYTES, at + this.#limit - this.#sent);
        this.#sent += end - at;
        this.#sink.data(bytes.subarray(at, end));
        at = end;
      }
    });
  }

  close(): Promise<void> {
    if (this.#closed) return this.#tail;
    this.#closed = true;
    return this.#enqueue(async () => {
      await this.#opened();
      this.#sendEof();
    });
  }

  /** The channel is open (again): credit counts from here. Bytes on their way when a connection broke may be lost: `lossy` says whether that is an error. */
  start(lossy: boolean): void {
    if (this.#sent > 0 && !lossy) {
      this.fail(
        new VivError('connection_lost', 'the connection broke while input was on its way; part of it may be lost'),
      );
    }
    this.#sent = 0;
    this.#limit = MUX_INITIAL_LIMIT_BYTES;
    this.#ready = true;
    this.#eofSent = false;
    this.#wakeAll();
    if (this.#closed) void this.#tail.then(() => this.#ready && this.#sendEof());
  }

  pause(): void {
    this.#ready = false;
  }

  grant(limit: number): void {
    if (limit > this.#limit) this.#limit = limit;
    this.#wakeAll();
  }

  fail(error: VivError): void {
    this.#error ??= error;
    this.#wakeAll();
  }

  #sendEof(): void {
    if (this.#eofSent || this.#error) return;
    this.#eofSent = true;
    this.#sink.eof();
  }

  #enqueue(step: () => Promise<void>): Promise<void> {
    const done = this.#tail.then(step);
    this.#tail = done.catch(() => {});
    return done;
  }

  async #opened(): Promise<void> {
    while (!this.#ready && !this.#error) await new Promise<void>((resolve) => this.#wake.push(resolve));
    if (this.#error) throw this.#error;
  }

  async #credit(): Promise<void> {
    await this.#opened();
    while (this.#sent >= this.#limit || !this.#ready) {
      if (this.#error) throw this.#error;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
    if (this.#error) throw this.#error;
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
