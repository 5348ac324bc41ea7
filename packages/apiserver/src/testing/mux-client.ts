import { once } from 'node:events';
import type { ClientMessage, MuxOpInput, ServerMessage } from '@vivarium/protocol';
import { MUX_HEADER_BYTES, MUX_PROTOCOL } from '@vivarium/protocol/mux-frame.ts';
import { WebSocket } from 'ws';

type Message = Exclude<ServerMessage, { t: 'pong' }>;
type Sent = ClientMessage | { t: 'open'; ch: number; req: MuxOpInput };

/** A client that does exactly what a test says, also what no good client would. */
export class MuxClient {
  readonly ws: WebSocket;
  readonly messages: ServerMessage[] = [];
  /** Bytes received by channel and sub-channel. */
  readonly data = new Map<string, Buffer[]>();
  /** Raise credit for what comes? */
  credit = true;
  closed: { code: number; reason: string } | undefined;
  #wake: (() => void)[] = [];
  readonly #granted = new Map<string, number>();

  constructor(url: string, secret: string, protocols: string | string[] = MUX_PROTOCOL) {
    this.ws = new WebSocket(`${url.replace('http', 'ws')}/v1/connect`, protocols, {
      headers: secret === '' ? {} : { authorization: `Bearer ${secret}` },
    });
    this.ws.on('message', (data: Buffer, isBinary: boolean) =>
      isBinary ? this.#take(data) : this.messages.push(JSON.parse(String(data))),
    );
    this.ws.on('message', () => this.#stir());
    this.ws.on('error', () => {});
    this.ws.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) };
      this.#stir();
    });
  }

  async ready(): Promise<this> {
    if (this.ws.readyState === WebSocket.CONNECTING)
      await Promise.race([once(this.ws, 'open'), once(this.ws, 'close')]);
    return this;
  }

  send(message: Sent): void {
    this.ws.send(JSON.stringify(message));
  }

  open(ch: number, req: MuxOpInput): void {
    this.send({ t: 'open', ch, req });
  }

  write(ch: number, sub: number, chunk: Uint8Array): void {
    const frame = Buffer.alloc(MUX_HEADER_BYTES + chunk.length);
    frame.writeUInt32LE(ch, 0);
    frame[4] = sub;
    frame.set(chunk, MUX_HEADER_BYTES);
    this.ws.send(frame);
  }

  /** The first message of this kind on the channel, waiting for it. */
  async next<T extends Message['t']>(
    t: T,
    ch: number,
    matching: (message: Extract<Message, { t: T }>) => boolean = () => true,
  ): Promise<Extract<Message, { t: T }>> {
    const found = await this.until(() =>
      this.messages.find(
        (message) =>
          message.t === t && 'ch' in message && message.ch === ch && matching(message as Extract<Message, { t: T }>),
      ),
    );
    return found as Extract<Message, { t: T }>;
  }

  event(ch: number, type: string) {
    return this.next('event', ch, ({ event }) => event.type === type);
  }

  bytes(ch: number, sub = 1): Buffer {
    return Buffer.concat(this.data.get(`${ch}.${sub}`) ?? []);
  }

  count(ch: number, sub = 1): number {
    return (this.data.get(`${ch}.${sub}`) ?? []).reduce((sum, chunk) => sum + chunk.length, 0);
  }

  /** Waits for anything that arrives until the condition holds. */
  async until<T>(condition: () => T | undefined | false): Promise<T> {
    for (;;) {
      const value = condition();
      if (value !== undefined && value !== false) return value;
      if (this.closed) throw new Error(`closed: ${this.closed.code} ${this.closed.reason}`);
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  async end(): Promise<{ code: number; reason: string }> {
    while (!this.closed) await new Promise<void>((resolve) => this.#wake.push(resolve));
    return this.closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ws.terminate();
    await this.end();
  }

  #take(data: Buffer): void {
    const [ch, sub] = [data.readUInt32LE(0), data[4]!];
    const name = `${ch}.${sub}`;
    const chunks = this.data.get(name) ?? [];
    chunks.push(data.subarray(MUX_HEADER_BYTES));
    this.data.set(name, chunks);
    const total = (this.#granted.get(name) ?? 0) + data.length - MUX_HEADER_BYTES;
    this.#granted.set(name, total);
    if (this.credit) this.send({ t: 'window', ch, sub, limit: total + 1_048_576 });
  }

  #stir(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
