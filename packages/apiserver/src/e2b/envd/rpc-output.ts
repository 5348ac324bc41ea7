import type { ServerResponse } from 'node:http';
import { VivError } from '@vivarium/protocol';
import { drained } from '../../http/drained.ts';
import type { rpcFailure } from '../error.ts';
import type { RpcStream } from './envd-call.ts';
import { STREAM_MEDIA } from './rpc-media.ts';

const PREFIX_BYTES = 5;
const FLAG_END = 2;
/** A client may be this far behind before its stream waits for it. */
const BEHIND_BYTES = 512 * 1024;
const KEEPALIVE_S = 90;
const KEEPALIVE_S_MAX = 3600;

/** The frames of one stream of answers. */
export class RpcOutput implements RpcStream {
  readonly timeoutMs: number | null;
  readonly #res: ServerResponse;
  readonly #intervalMs: number;
  #ping: NodeJS.Timeout | null = null;
  #stopped = false;
  #begun = false;

  constructor(res: ServerResponse, timeoutMs: number | null, interval: string | string[] | undefined) {
    this.#res = res;
    this.timeoutMs = timeoutMs;
    const seconds = Number(interval);
    this.#intervalMs = 1000 * (seconds >= 1 ? Math.min(seconds, KEEPALIVE_S_MAX) : KEEPALIVE_S);
  }

  /** Has the client been sent a message? */
  get begun(): boolean {
    return this.#begun;
  }

  send(message: object): Promise<void> | void {
    return this.#write(frame(0, message));
  }

  sendBytes(before: string, bytes: Uint8Array, after: string): Promise<void> | void {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
    const size = before.length + text.length + after.length;
    const buffer = Buffer.allocUnsafe(PREFIX_BYTES + size);
    buffer[0] = 0;
    buffer.writeUInt32BE(size, 1);
    let at = PREFIX_BYTES;
    at += buffer.write(before, at, 'latin1');
    at += buffer.write(text, at, 'latin1');
    buffer.write(after, at, 'latin1');
    return this.#write(buffer);
  }

  keepAlive(message: object): void {
    // The time of the call was over before there was something to tell.
    if (this.#stopped) return;
    this.#ping = setInterval(() => {
      // One that is behind gets to read something anyway.
      if (this.#res.writableLength === 0 && !this.#res.destroyed) this.#res.write(frame(0, message));
    }, this.#intervalMs);
    this.#ping.unref();
  }

  /** The last frame, with an error or without. */
  end(failure?: ReturnType<typeof rpcFailure>): void {
    this.stop();
    if (this.#res.destroyed || this.#res.writableEnded) return;
    this.#head();
    this.#res.end(frame(FLAG_END, failure ? { error: { code: failure.code, message: failure.message } } : {}));
  }

  /** Breaks the connection: the client asks then whether the sandbox lives, which no error code makes it do. */
  cut(): void {
    this.stop();
    this.#res.destroy();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#ping) clearInterval(this.#ping);
    this.#ping = null;
  }

  #write(buffer: Buffer): Promise<void> | void {
    if (this.#res.destroyed || this.#res.writableEnded) throw gone();
    this.#head();
    this.#begun = true;
    this.#ping?.refresh();
    this.#res.write(buffer);
    if (this.#res.writableLength > BEHIND_BYTES) return taken(this.#res);
  }

  #head(): void {
    if (this.#res.headersSent) return;
    this.#res.statusCode = 200;
    this.#res.setHeader('content-type', STREAM_MEDIA);
    this.#res.setHeader('cache-control', 'no-store');
  }
}

function frame(flags: number, message: object): Buffer {
  const text = JSON.stringify(message);
  const size = Buffer.byteLength(text);
  const buffer = Buffer.allocUnsafe(PREFIX_BYTES + size);
  buffer[0] = flags;
  buffer.writeUInt32BE(size, 1);
  buffer.write(text, PREFIX_BYTES);
  return buffer;
}

/** Resolves when the client has taken what is written; rejects `connection_lost`. */
async function taken(res: ServerResponse): Promise<void> {
  await drained(res);
  if (res.destroyed) throw gone();
}

function gone(): VivError {
  return new VivError('connection_lost', 'the client has left the stream');
}
