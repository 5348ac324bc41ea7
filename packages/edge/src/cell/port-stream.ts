import { Duplex } from 'node:stream';
import { VivError } from '@vivarium/protocol';
import { Deadline } from './deadline.ts';
import { failureError, parseFailure } from './failure.ts';
import { FRAME, readOffset, violation } from './frame.ts';
import { Inflow } from './inflow.ts';
import type { CellStream } from './link.ts';
import { type Done, Outflow } from './outflow.ts';
import { abortError, type RequestOptions } from './request.ts';
import type { Session } from './session.ts';

/** Bytes a connection may send before they are read. */
export const PORT_WINDOW = 262_144;
const CONNECT_MS = 30_000;

/** A connection into or out of the sandbox. Half-open ends are kept apart; destroying it ends both. */
export class PortStream extends Duplex {
  readonly #half: PortHalf;

  private constructor(session: Session, window: number) {
    super({ allowHalfOpen: true, readableHighWaterMark: window, writableHighWaterMark: PORT_WINDOW });
    this.#half = new PortHalf(session, window, this);
    // What the guest sends must not end the process before the owner has had a chance to listen.
    this.on('error', () => {});
  }

  /** CONNECT: resolves once the guest is connected. The frame must carry PORT_WINDOW. */
  static connect(session: Session, build: (stream: number) => Buffer, options: RequestOptions): Promise<PortStream> {
    const port = new PortStream(session, PORT_WINDOW);
    return port.#half.connect(build, options);
  }

  /** OPENED: the guest's listener has accepted. */
  static accept(session: Session, stream: number, window: number): PortStream {
    const port = new PortStream(session, window);
    port.#half.accept(stream);
    return port;
  }

  override _read(): void {
    this.#half.wanted();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#half.out.write(chunk, done);
  }

  override _writev(chunks: { chunk: Buffer }[], done: Done): void {
    const last = chunks.length - 1;
    chunks.forEach(({ chunk }, index) => {
      this.#half.out.write(chunk, index === last ? done : () => {});
    });
  }

  override _final(done: Done): void {
    this.#half.out.close();
    this.#half.ended();
    done();
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#half.destroyed(error);
    done(error);
  }
}

/** The stream's end toward the session. */
class PortHalf implements CellStream {
  readonly #session: Session;
  readonly #port: PortStream;
  readonly #in: Inflow;
  readonly #window: number;
  #stream = 0;
  #open = false;
  #connecting: { settle: (error: VivError | null) => void } | null = null;
  #what = 'connection';
  out!: Outflow;

  constructor(session: Session, window: number, port: PortStream) {
    this.#session = session;
    this.#window = window;
    this.#port = port;
    this.#in = new Inflow(window);
  }

  connect(build: (stream: number) => Buffer, options: RequestOptions): Promise<PortStream> {
    const { signal, what } = options;
    this.#what = what;
    if (signal?.aborted) return Promise.reject(abortError(signal, what));
    this.#open = true;
    this.#stream = this.#session.add(this);
    this.out = new Outflow(this.#session, this.#stream, false);
    try {
      this.#session.send(build(this.#stream));
    } catch (error) {
      this.#close();
      return Promise.reject(error);
    }
    return new Promise((resolve, reject) => {
      const giveUp = (error: VivError): void => {
        this.#port.destroy();
        this.#connecting?.settle(error);
      };
      const onAbort = (): void => giveUp(abortError(signal as AbortSignal, what));
      const deadline = new Deadline(options.timeoutMs ?? CONNECT_MS, this.#session, () => {
        giveUp(new VivError('request_timeout', `${what}: no answer within ${options.timeoutMs ?? CONNECT_MS} ms`));
      });
      deadline.arm();
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#connecting = {
        settle: (error) => {
          this.#connecting = null;
          deadline.clear();
          signal?.removeEventListener('abort', onAbort);
          if (error) reject(error);
          else resolve(this.#port);
        },
      };
    });
  }

  accept(stream: number): void {
    this.#open = true;
    this.#stream = stream;
    this.#session.place(stream, this);
    this.out = new Outflow(this.#session, stream, false);
  }

  frame(type: number, chan: number, payload: Buffer): void {
    if (type === FRAME.OK && this.#connecting) return this.#connecting.settle(null);
    if (type === FRAME.FAIL) return this.lost(failureError(this.#what, parseFailure(payload)));
    if (this.#connecting) throw violation(`frame of type ${type} before OK of CONNECT`);
    if (type === FRAME.WINDOW) return this.out.window(payload);
    if (type !== FRAME.EOF || chan !== 1) throw violation(`frame of type ${type} on a connection`);
    if (!this.#in.finish(readOffset(payload, 0))) throw violation('a second end of a connection');
    this.#port.push(null);
    this.ended();
  }

  data(chan: number, offset: number, piece: Buffer): void {
    if (chan !== 1 || this.#connecting) throw violation(`data on channel ${chan} of a connection`);
    this.#in.accept(offset, piece.length);
    if (this.#port.push(piece)) this.wanted();
  }

  /** The reader has room. */
  wanted(): void {
    this.#in.grant(this.#in.received, this.#in.received + this.#window);
    if (!this.#open || !this.#in.due) return;
    this.#in.told();
    this.#session.sendWindow(1, this.#stream, this.#in.acked, this.#in.limit);
  }

  /** One direction ended: with both, the stream is over on either side. */
  ended(): void {
    if (this.#open && this.#in.ended && this.out.closed) this.#close();
  }

  destroyed(error: Error | null): void {
    if (this.#open) this.#session.sendShort(FRAME.CANCEL, this.#stream);
    this.#close();
    this.out.abandon(error ?? new VivError('connection_lost', `${this.#what}: closed`));
  }

  disconnected(error: VivError): boolean {
    this.lost(error);
    return false;
  }

  reconnected(): void {}

  lost(error: VivError): void {
    this.#close();
    if (this.#connecting) {
      this.#connecting.settle(error);
      this.#port.destroy();
    } else {
      this.#port.destroy(error);
    }
  }

  #close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#session.forget(this.#stream, this.#in.outstanding);
  }
}
