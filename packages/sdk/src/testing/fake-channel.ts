import { MUX_HEADER_BYTES, MUX_INITIAL_LIMIT_BYTES } from '@vivarium/protocol/mux-frame.ts';
import type { VivError } from '@vivarium/protocol/viv-error.ts';
import type { WebSocket } from 'ws';

/** The server's end of one channel in tests: holds to the credit and shouts when the client does not. */
export class FakeChannel {
  readonly ch: number;
  /** What the client sent on sub-channel 0. */
  readonly received: Buffer[] = [];
  readonly messages: Array<{ t: string } & Record<string, unknown>> = [];
  /** Called for each control message of the client. */
  onMessage: (message: { t: string } & Record<string, unknown>) => void = () => {};
  onInput: (chunk: Buffer) => void = () => {};
  onInputEnd: () => void = () => {};
  readonly siblings = new Map<number, FakeChannel>();
  overCredit = false;
  gone = false;
  readonly #ws: WebSocket;
  readonly #limits = new Map<number, number>();
  readonly #sent = new Map<number, number>();
  #inputLimit = MUX_INITIAL_LIMIT_BYTES;
  #inputBytes = 0;
  #wake: Array<() => void> = [];

  constructor(ws: WebSocket, ch: number) {
    this.#ws = ws;
    this.ch = ch;
  }

  /** A channel that the server opens on the same connection. */
  sibling(ch: number): FakeChannel {
    const channel = new FakeChannel(this.#ws, ch);
    this.siblings.set(ch, channel);
    return channel;
  }

  opened(result: unknown): void {
    this.#send({ t: 'opened', ch: this.ch, result });
  }

  event(event: Record<string, unknown>): void {
    this.#send({ t: 'event', ch: this.ch, event });
  }

  eof(sub: number): void {
    this.#send({ t: 'eof', ch: this.ch, sub });
  }

  closed(error?: VivError): void {
    this.#send({ t: 'closed', ch: this.ch, ...(error && { error: error.toBody().error }) });
  }

  grant(limit: number): void {
    this.#inputLimit = limit;
    this.#send({ t: 'window', ch: this.ch, sub: 0, limit });
  }

  /** Sends as the client gives credit; resolves when all is out or the connection broke. */
  async data(sub: number, bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length && !this.gone; ) {
      const room = (this.#limits.get(sub) ?? MUX_INITIAL_LIMIT_BYTES) - (this.#sent.get(sub) ?? 0);
      if (room === 0) {
        await new Promise<void>((resolve) => this.#wake.push(resolve));
        continue;
      }
      const chunk = bytes.subarray(at, at + Math.min(room, 65_536));
      const frame = Buffer.alloc(MUX_HEADER_BYTES + chunk.length);
      frame.writeUInt32LE(this.ch, 0);
      frame[4] = sub;
      frame.set(chunk, MUX_HEADER_BYTES);
      this.#ws.send(frame);
      this.#sent.set(sub, (this.#sent.get(sub) ?? 0) + chunk.length);
      at += chunk.length;
    }
  }

  input(_sub: number, chunk: Buffer): void {
    this.#inputBytes += chunk.length;
    if (this.#inputBytes > this.#inputLimit) this.overCredit = true;
    this.received.push(Buffer.from(chunk));
    this.onInput(chunk);
  }

  message(message: { t: string; sub?: number; limit?: number } & Record<string, unknown>): void {
    this.messages.push(message);
    if (message.t === 'window') {
      this.#limits.set(message.sub!, message.limit!);
      this.#wakeAll();
    }
    if (message.t === 'eof') this.onInputEnd();
    if (message.t === 'close') this.broken();
    this.onMessage(message);
  }

  broken(): void {
    this.gone = true;
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  #send(message: unknown): void {
    if (!this.gone) this.#ws.send(JSON.stringify(message));
  }
}
