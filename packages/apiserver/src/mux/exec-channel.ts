import type { ExecStream, StreamOptions } from '@vivarium/edge/edge.ts';
import { SignalRequest, Sub, VivError, type WinSize } from '@vivarium/protocol';
import { check } from '../http/issues.ts';
import type { Channel, Wire } from './channel.ts';
import { Inbox } from './inbox.ts';
import { Sender } from './sender.ts';
import { ProtocolViolation } from './violation.ts';

export type ExecRequest = { sandbox: string; stdin: boolean; begin(options: StreamOptions): Promise<ExecStream> };

/** A command's streams. Output goes on only as the client gives credit; when the channel closes, the command runs on. */
export class ExecChannel implements Channel {
  readonly #wire: Wire;
  readonly #ch: number;
  readonly #request: ExecRequest;
  readonly #senders: Record<1 | 2, Sender>;
  readonly #stdin: Inbox | undefined;
  readonly #stream = Promise.withResolvers<ExecStream | undefined>();
  #isOpen = false;
  #closed = false;

  constructor(wire: Wire, ch: number, request: ExecRequest) {
    this.#wire = wire;
    this.#ch = ch;
    this.#request = request;
    this.#senders = { 1: new Sender(wire.outbox, ch, Sub.out), 2: new Sender(wire.outbox, ch, Sub.err) };
    if (request.stdin) this.#stdin = new Inbox({ grant: (limit) => wire.window(ch, Sub.in, limit), held: wire.held });
    // Not before the connection has put this in its table: it may end at once.
    queueMicrotask(() => void this.#run());
  }

  data(sub: number, chunk: Buffer): void {
    if (sub !== Sub.in || !this.#stdin)
      throw new ProtocolViolation(`channel ${this.#ch} takes no data on sub-channel ${sub}`);
    this.#stdin.push(chunk);
  }

  eof(sub: number): void {
    if (sub === Sub.in) this.#stdin?.end();
  }

  window(sub: number, limit: number): void {
    if (sub === Sub.out || sub === Sub.err) this.#senders[sub].grant(limit);
  }

  signal(signal: number | string, scope: 'process' | 'group' | 'tree'): void {
    this.#control((exec) =>
      this.#wire.edge.execs.signal(this.#request.sandbox, exec, check(SignalRequest, { signal, scope })),
    );
  }

  resize(size: WinSize): void {
    this.#control((exec) => this.#wire.edge.execs.resize(this.#request.sandbox, exec, size));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stdin?.close();
    this.#senders[1].close();
    this.#senders[2].close();
    void this.#stream.promise.then((stream) => stream?.close());
  }

  async #run(): Promise<void> {
    try {
      const stream = await this.#request.begin(this.#options());
      if (!this.#closed) this.#wire.opened(this.#ch, stream.exec);
      this.#isOpen = true;
      this.#stream.resolve(stream);
      if (this.#closed) return;
      void this.#feedStdin(stream);
      const exec = await stream.done;
      await Promise.all([this.#senders[1].idle(), this.#senders[2].idle()]);
      if (this.#closed) return;
      this.#wire.eof(this.#ch, Sub.out);
      this.#wire.eof(this.#ch, Sub.err);
      this.#wire.event(this.#ch, { type: 'exit', exec });
      this.#wire.finish(this.#ch);
    } catch (error) {
      this.#stream.resolve(undefined);
      if (!this.#closed) this.#wire.finish(this.#ch, error);
    }
  }

  #options(): StreamOptions {
    const opened = this.#stream.promise;
    const send = (sub: 1 | 2, chunk: Uint8Array) => this.#senders[sub].send(chunk);
    return {
      stdin: this.#request.stdin,
      // The client must have the answer before the first byte.
      onData: (sub, _offset, chunk) => (this.#isOpen ? send(sub, chunk) : opened.then(() => send(sub, chunk))),
      onGap: (sub, from, to) =>
        void opened.then(() => !this.#closed && this.#wire.event(this.#ch, { type: 'gap', sub, from, to })),
    };
  }

  /** What a command that has ended doesn't take is dropped. */
  async #feedStdin(stream: ExecStream): Promise<void> {
    if (!this.#stdin) return;
    try {
      if (await this.#stdin.drain((chunk) => stream.write(chunk))) await stream.closeStdin();
    } catch {
      this.#stdin.discard();
    }
  }

  #control(act: (exec: string) => Promise<void>): void {
    void this.#stream.promise
      .then((stream) => stream && act(stream.exec.id))
      .catch((thrown: unknown) => {
        const error = this.#wire.failed(thrown);
        if (this.#closed || (error instanceof VivError && error.code === 'exec_not_running')) return;
        this.#wire.event(this.#ch, { type: 'error', ...error.toBody() });
      });
  }
}
