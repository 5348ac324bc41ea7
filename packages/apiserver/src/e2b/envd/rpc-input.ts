import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { VivError } from '@vivarium/protocol';
import type { z } from 'zod';
import { parseJson, readBody } from '../../http/body.ts';
import { Gathered } from '../../http/gathered.ts';
import { check } from '../../http/issues.ts';
import type { RpcMethod } from './envd-call.ts';
import { type Compression, compressionOf, inflated, STREAM_MEDIA, tooLarge, UNARY_MEDIA } from './rpc-media.ts';

const MAX_BYTES_DEFAULT = 4 * 1024 * 1024;
/** Flags and length before each message of a stream. */
const PREFIX_BYTES = 5;
const FLAG_COMPRESSED = 1;
const FLAG_END = 2;
const BODY_TIMEOUT_MS = 60_000;

type Message<M extends RpcMethod> = z.output<M['input']>;

/** The message of a unary call. Throws `payload_too_large`, `malformed_json`, `invalid_argument`, … */
export async function readUnary<M extends RpcMethod>(req: IncomingMessage, method: M): Promise<Message<M>> {
  const maxBytes = method.maxBytes ?? MAX_BYTES_DEFAULT;
  const compression = compressionOf(req, UNARY_MEDIA);
  const body = await readBody(req, maxBytes, BODY_TIMEOUT_MS);
  return decoded(method, inflated(body, compression, maxBytes));
}

/** The one message that opens a stream of answers. */
export async function readOne<M extends RpcMethod>(req: IncomingMessage, method: M): Promise<Message<M>> {
  const maxBytes = method.maxBytes ?? MAX_BYTES_DEFAULT;
  const compression = compressionOf(req, STREAM_MEDIA);
  const body = await readBody(req, maxBytes + PREFIX_BYTES, BODY_TIMEOUT_MS);
  if (body.length < PREFIX_BYTES || body.readUInt32BE(1) !== body.length - PREFIX_BYTES)
    throw new VivError('invalid_argument', `the body of ${body.length} bytes is not one enveloped message`);
  return decoded(method, payload(body[0]!, body.subarray(PREFIX_BYTES), compression, maxBytes));
}

/** The messages of a client's stream, one after the other. Nothing is read ahead of the handler but what the socket holds. */
export async function* readMany<M extends RpcMethod>(req: IncomingMessage, method: M): AsyncGenerator<Message<M>> {
  const maxBytes = method.maxBytes ?? MAX_BYTES_DEFAULT;
  const compression = compressionOf(req, STREAM_MEDIA);
  const held = new Gathered();
  for await (const chunk of req as AsyncIterable<Buffer>) {
    held.push(chunk);
    for (;;) {
      const wanted = wantedBytes(held, maxBytes);
      if (wanted === null || wanted > held.length) break;
      const whole = held.take(wanted);
      if ((whole[0]! & FLAG_END) !== 0) return;
      yield decoded(method, payload(whole[0]!, whole.subarray(PREFIX_BYTES), compression, maxBytes));
    }
  }
  if (!req.complete) throw new VivError('connection_lost', 'the client went away before its stream was complete');
  if (held.length > 0) throw new VivError('invalid_argument', 'the stream ends within a message');
}

/** Length of the message that begins `held` with its prefix; null: not known yet. */
function wantedBytes(held: Gathered, maxBytes: number): number | null {
  if (held.length < PREFIX_BYTES) return null;
  const size = held.peek(PREFIX_BYTES).readUInt32BE(1);
  if (size > maxBytes) throw tooLarge(maxBytes);
  return PREFIX_BYTES + size;
}

function payload(flags: number, bytes: Buffer, compression: Compression, maxBytes: number): Buffer {
  if ((flags & FLAG_COMPRESSED) === 0) return bytes;
  if (compression === 'identity')
    throw new VivError('invalid_argument', 'a compressed message without Connect-Content-Encoding');
  return inflated(bytes, compression, maxBytes);
}

function decoded<M extends RpcMethod>(method: M, bytes: Buffer): Message<M> {
  if (!isUtf8(bytes)) throw new VivError('malformed_json', 'the message is not UTF-8');
  return check(method.input, bytes.length === 0 ? {} : parseJson(bytes.toString('utf8'))) as Message<M>;
}
