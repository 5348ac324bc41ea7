import { type Bytes, toBytes, toReadable } from './bytes.ts';
import type { Channel } from './channel.ts';

/** A byte connection: two web streams, closed one by one or together. */
export class Connection implements AsyncDisposable {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Bytes>;
  /** Settles when both directions are done or the connection broke. */
  readonly closed: Promise<void>;
  readonly #channel: Channel;
  readonly #incoming: AsyncIterable<Uint8Array>;

  constructor(channel: Channel, incoming: number) {
    this.#channel = channel;
    this.#incoming = channel.inlets.get(incoming)!;
    this.closed = channel.closed;
    this.readable = toReadable(this.#incoming);
    this.writable = new WritableStream<Bytes>({
      write: (chunk) => this.write(chunk),
      close: () => this.end(),
      abort: () => this.close(),
    });
  }

  /** The incoming bytes, without the cost of a web stream. Use this or `readable`, not both. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#incoming[Symbol.asyncIterator]();
  }

  write(data: Bytes): Promise<void> {
    return this.#channel.outlet.write(toBytes(data));
  }

  /** No more from this side. */
  end(): Promise<void> {
    return this.#channel.outlet.close();
  }

  close(): void {
    this.#channel.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}
