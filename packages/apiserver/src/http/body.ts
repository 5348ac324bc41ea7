import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { VivError } from '@vivarium/protocol';
import { Gathered } from './gathered.ts';
import { jsonErrorPosition } from './json-position.ts';

/** Reads a whole JSON body. Throws `payload_too_large`, `request_timeout`, `malformed_json`, `connection_lost`. An empty one is `{}`. */
export async function readJson(req: IncomingMessage, maxBytes: number, timeoutMs: number): Promise<unknown> {
  const declared = Number(req.headers['content-length'] ?? 0);
  if (declared > maxBytes) throw tooLarge(maxBytes);
  if (req.headers['content-encoding'] !== undefined)
    throw new VivError('invalid_argument', 'content-encoding: send the body as it is');
  const body = await readBody(req, maxBytes, timeoutMs);
  if (body.length === 0) return {};
  if (!isUtf8(body)) throw new VivError('malformed_json', 'the body is not UTF-8');
  return parseJson(body.toString('utf8'));
}

/** Throws `malformed_json` with `details.position`, and `invalid_argument` for a name that objects can't have: it would be dropped without a word. */
export function parseJson(text: string): unknown {
  try {
    return MAY_NAME_PROTOTYPE.test(text) ? JSON.parse(text, refusePrototype) : JSON.parse(text);
  } catch (error) {
    if (error instanceof VivError) throw error;
    const position = jsonErrorPosition(text, (error as Error).message);
    throw new VivError('malformed_json', `malformed JSON at position ${position}: ${reason(error as Error)}`, {
      details: { position },
    });
  }
}

/** The name itself, or any letter of it escaped. */
const MAY_NAME_PROTOTYPE = /__proto__|\\u00(?:5f|6f|7[024])/i;

function refusePrototype(name: string, value: unknown): unknown {
  if (name !== '__proto__') return value;
  throw new VivError('invalid_argument', `the name "${name}" can't be used in an object; pick another one`, {
    details: { field: name },
  });
}

function reason(error: Error): string {
  return error.message
    .replace(/,? (\.\.\.)?".*"(\.\.\.)? is not valid JSON$/s, '')
    .replace(/ in JSON at position .*$/s, '');
}

/** Reads a whole body into memory. Throws `payload_too_large`, `request_timeout`, `connection_lost`. */
export function readBody(req: IncomingMessage, maxBytes: number, timeoutMs: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const body = new Gathered();
    const finish = (error?: VivError) => {
      clearTimeout(timer);
      req.off('data', onData).off('end', onEnd).off('close', onClose);
      if (error) reject(error);
      else resolve(body.take(body.length));
    };
    const timer = setTimeout(
      () => finish(new VivError('request_timeout', `the body did not arrive within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const onData = (chunk: Buffer) => {
      if (body.length + chunk.length > maxBytes) return finish(tooLarge(maxBytes));
      body.push(chunk);
    };
    const onEnd = () => finish();
    const onClose = () =>
      finish(new VivError('connection_lost', 'the client went away before its request was complete'));
    req.on('data', onData).on('end', onEnd).on('close', onClose);
    // Closing is told once: the client may have gone while its sandbox was being woken.
    if (req.destroyed) onClose();
  });
}

function tooLarge(maxBytes: number): VivError {
  return new VivError('payload_too_large', `the body is larger than ${maxBytes} bytes`, { details: { maxBytes } });
}
