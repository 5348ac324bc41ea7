import { Readable } from 'node:stream';
import { VivError } from '@vivarium/protocol';
import type { FileRead } from './cell-files.ts';
import { Deadline } from './deadline.ts';
import { failureError, parseFailure } from './failure.ts';
import { FRAME, readOffset, violation } from './frame.ts';
import { Inflow } from './inflow.ts';
import type { CellStream } from './link.ts';
import { abortError, type RequestOptions } from './request.ts';
import type { Session } from './session.ts';

/** Bytes of a file that may be on their way: a mebibyte keeps both ends busy. */
export const READ_WINDOW = 1_048_576;
const BUFFERED_BYTES = 262_144;
const STALL_MS = 60_000;

/** `onChunk` sees every chunk in order, also those that come before the stream has a reader. */
type ReadRequest = RequestOptions & { onChunk?: ((chunk: Uint8Array) => void) | undefined };

/** The content of a file as it comes from the guest. Destroying it ends the read there. */
export class FileReadable extends Readable {
  readonly #half: FileHalf;

  private constructor(session: Session, parse: (payload: Buffer) => FileRead['entry'], options: ReadRequest) {
    super({ highWaterMark: BUFFERED_BYTES });
    this.#half = new FileHalf(session, this, parse, options);
    // What the guest sends must not end the process before the owner has had a chance to listen.
    this.on('error', () => {});
  }

  /** Resolves when the guest has opened the file. The frame must carry READ_WINDOW. */
  static open(
    session: Session,
    parse: (payload: Buffer) => FileRead['entry'],
    build: (stream: number) => Buffer,
    options: ReadRequest,
  ): Promise<FileRead> {
    const stream = new FileReadable(session, parse, options);
    return stream.#half.open(build);
  }

  override _read(): void {
    this.#half.wanted();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#half.destroyed();
    done(error);
  }
}

/** The stream's end toward the session. */
class FileHalf implements CellStream {
  readonly #session: Session;
  readonly #readable: FileReadable;
  readonly #parse: (payload: Buffer) => FileRead['entry'];
  readonly #options: ReadRequest;
  readonly #in = new Inflow(READ_WINDOW);
  /** Runs while the reader waits for the guest, not while the guest waits for the reader. */
  readonly #stall: Deadline;
  #stream = 0;
  #open = false;
  #opening: { resolve: (read: FileRead) => void; reject: (error: VivError) => void } | null = null;

  constructor(
    session: Session,
    readable: FileReadable,
    parse: (payload: Buffer) => FileRead['entry'],
    options: ReadRequest,
  ) {
    this.#session = session;
    this.#readable = readable;
    this.#parse = parse;
    this.#options = options;
    this.#stall = new Deadline(STALL_MS, session, () => {
      this.#giveUp(new VivError('request_timeout', `${options.what}: the sandbox has stopped answering`));
    });
  }

  open(build: (stream: number) => Buffer): Promise<FileRead> {
    const { signal, what } = this.#options;
    if (signal?.aborted) return Promise.reject(abortError(signal, what));
    this.#stream = this.#session.add(this);
    this.#open = true;
    return new Promise((resolve, reject) => {
      this.#opening = { resolve, reject };
      try {
        this.#session.send(build(this.#stream));
      } catch (error) {
        return this.lost(VivError.from(error));
      }
      this.#stall.arm();
      signal?.addEventListener('abort', this.#aborted, { once: true });
    });
  }

  frame(type: number, chan: number, payload: Buffer): void {
    if (type === FRAME.FAIL) return this.lost(failureError(this.#options.what, parseFailure(payload)));
    if (type === FRAME.OK && this.#opening) {
      const { resolve } = this.#opening;
      const entry = this.#parse(payload);
      this.#opening = null;
      this.#stall.clear();
      return resolve({ entry, stream: this.#readable });
    }
    if (type !== FRAME.EOF || chan !== 1 || this.#opening)
      throw violation(`frame of type ${type} in answer to ${this.#options.what}`);
    this.#in.finish(readOffset(payload, 0));
    this.#close();
    this.#readable.push(null);
  }

  data(chan: number, offset: number, piece: Buffer): void {
    if (chan !== 1 || this.#opening) throw violation(`data on channel ${chan} in answer to ${this.#options.what}`);
    this.#in.accept(offset, piece.length);
    this.#options.onChunk?.(piece);
    if (this.#readable.push(piece)) this.wanted();
    else this.#stall.clear();
  }

  wanted(): void {
    if (!this.#open) return;
    this.#stall.arm();
    this.#in.grant(this.#in.received, this.#in.received + READ_WINDOW);
    if (!this.#in.due) return;
    this.#in.told();
    this.#session.sendWindow(1, this.#stream, this.#in.acked, this.#in.limit);
  }

  destroyed(): void {
    if (this.#open) this.#session.sendShort(FRAME.CANCEL, this.#stream);
    this.#close();
  }

  disconnected(error: VivError): boolean {
    this.lost(error);
    return false;
  }

  reconnected(): void {}

  lost(error: VivError): void {
    this.#close();
    const opening = this.#opening;
    this.#opening = null;
    if (opening) opening.reject(error);
    this.#readable.destroy(opening ? undefined : error);
  }

  readonly #aborted = (): void => this.#giveUp(abortError(this.#options.signal as AbortSignal, this.#options.what));

  #giveUp(error: VivError): void {
    if (this.#open) this.#session.sendShort(FRAME.CANCEL, this.#stream);
    this.lost(error);
  }

  #close(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#stall.clear();
    this.#options.signal?.removeEventListener('abort', this.#aborted);
    this.#session.forget(this.#stream, this.#in.outstanding);
  }
}
