import type { IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { VivError } from '@vivarium/protocol';
import type { RpcMethod } from './envd-call.ts';

/** Media types of the Connect protocol with JSON messages (connectrpc.com, protocol reference). */
export const UNARY_MEDIA = 'application/json';
export const STREAM_MEDIA = 'application/connect+json';

export type Compression = 'identity' | 'gzip';

/** How the messages of a method travel. */
export function mediaOf(method: RpcMethod): string {
  return method.kind === 'unary' ? UNARY_MEDIA : STREAM_MEDIA;
}

/** Does the request's type fit? Parameters count only when they name another character set than UTF-8. */
export function isMedia(req: IncomingMessage, media: string): boolean {
  const [type, ...parameters] = (req.headers['content-type'] ?? '').toLowerCase().split(';');
  return (
    type?.trim() === media &&
    parameters.every((one) => !one.trim().startsWith('charset=') || /charset="?utf-?8"?$/.test(one.trim()))
  );
}

/** How the client compressed. Throws `unsupported` for what is not known here. */
export function compressionOf(req: IncomingMessage, media: string): Compression {
  const header = media === UNARY_MEDIA ? 'content-encoding' : 'connect-content-encoding';
  const value = req.headers[header] ?? 'identity';
  if (value === 'identity' || value === 'gzip') return value;
  throw new VivError('unsupported', `${header} "${value}" is not known; supported are gzip and identity`);
}

/** Milliseconds of `Connect-Timeout-Ms`; null: absent or 0, no limit. Throws `invalid_argument`. */
export function timeoutOf(req: IncomingMessage): number | null {
  const value = req.headers['connect-timeout-ms'];
  if (value === undefined) return null;
  if (typeof value !== 'string' || !/^\d{1,10}$/.test(value))
    throw new VivError('invalid_argument', `Connect-Timeout-Ms "${value}" is not a number of up to 10 digits`);
  return Number(value) || null;
}

/** Throws `payload_too_large` and `invalid_argument`. */
export function inflated(body: Buffer, compression: Compression, maxBytes: number): Buffer {
  if (compression === 'identity') return body;
  try {
    return gunzipSync(body, { maxOutputLength: maxBytes });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(maxBytes);
    throw new VivError('invalid_argument', 'the message is not valid gzip', { cause: error });
  }
}

export function tooLarge(maxBytes: number): VivError {
  return new VivError('payload_too_large', `the message is larger than ${maxBytes} bytes`, { details: { maxBytes } });
}
