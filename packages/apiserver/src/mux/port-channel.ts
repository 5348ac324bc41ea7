import type { Duplex } from 'node:stream';
import { Sub, VivError } from '@vivarium/protocol';
import { drained } from '../http/drained.ts';
import type { Channel, Wire } from './channel.ts';
import { Inbox } from './inbox.ts';
import { Sender } from './sender.ts';
import { ProtocolViolation } from './violation.ts';

/** A byte connection into a sandbox or out of it. Each direction ends on its own; the channel ends with both. */
export class PortChannel implements Channel {
  readonly #wire: Wire;
  readonly #ch: number;
  readonly #down: Sender;
  readonly #up: Inbox;
  #stream: Duplex | undefined;
  #closed = false;

  /** `answer`: does the client wait for `opened`? Not on channels that the server opened. */
  constructor(wire: Wire, ch: number, stream: Promise<Duplex>, answer: boolean) {
    this.#wire = wire;
    this.#ch = ch;
    this.#down = new Sender(wire.outbox, ch, Sub.out);
    this.#up = new Inbox({ grant: (limit) => wire.window(ch, Sub.in, limit), held: wire.held });
    void this.#run(stream, answer);
  }

  data(sub: number, chunk: Buffer): void {
    if (sub !== Sub.in) throw new ProtocolViolation(`channel ${this.#ch} takes no data on sub-channel ${sub}`);
    this.#up.push(chunk);
  }

  eof(sub: number): void {
    if (sub === Sub.in) this.#up.end();
  }

  window(sub: number, limit: number): void {
    if (sub === Sub.out) this.#down.grant(limit);
  }

  signal(): void {}

  resize(): void {}

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#down.close();
    this.#up.close();
    this.#stream?.destroy();
  }

  async #run(connecting: Promise<Duplex>, answer: boolean): Promise<void> {
    try {
      const stream = await connecting;
      stream.on('error', () => {});
      stream.once('close', () => this.#up.discard());
      this.#stream = stream;
      if (this.#closed) return void stream.destroy();
      if (answer) this.#wire.opened(this.#ch, {});
      await Promise.all([this.#pumpDown(stream), this.#pumpUp(stream)]);
      if (this.#closed) return;
      stream.destroy();
      this.#wire.finish(this.#ch);
    } catch (error) {
      this.#stream?.destroy();
      if (!this.#closed) this.#wire.finish(this.#ch, this.#stream ? broken(error) : error);
    }
  }

  async #pumpDown(stream: Duplex): Promise<void> {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      await this.#down.send(chunk as Buffer);
      if (this.#closed) return;
    }
    if (!this.#closed) this.#wire.eof(this.#ch, Sub.out);
  }

  /** The far side may stop reading while it still sends: then what comes for it is dropped. */
  async #pumpUp(stream: Duplex): Promise<void> {
    const said = await this.#up.drain(async (chunk) => {
      if (stream.destroyed) throw new VivError('port_closed', 'the connection was closed inside the sandbox');
      if (!stream.write(chunk)) await drained(stream);
    });
    if (said) stream.end();
  }
}

function broken(error: unknown): unknown {
  return error instanceof VivError
    ? error
    : new VivError('port_closed', 'the connection broke inside the sandbox', { cause: error });
}
