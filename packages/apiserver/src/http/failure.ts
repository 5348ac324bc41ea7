import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { VivError } from '@vivarium/protocol';
import type { Logger } from 'pino';
import { drain } from './drain.ts';

/**
 * Answers with an error body. Errors that are not ours are logged with a request id and become `internal`: their text stays here.
 * Once a response has begun, the connection is cut instead; one that is complete stays.
 */
export function sendFailure(req: IncomingMessage, res: ServerResponse, thrown: unknown, log: Logger): void {
  const error = presentable(thrown, log, { method: req.method, path: req.url?.split('?')[0] });
  const headers: Record<string, string> = {};
  if (error.status === 401) headers['www-authenticate'] = 'Bearer realm="vivarium"';
  if (error.code === 'too_many_requests' || error.code === 'shutting_down') headers['retry-after'] = '1';
  sendRefusal(req, res, error.status < 400 ? 500 : error.status, error.toBody(), headers);
}

/** Any JSON body in place of an answer, so that a client that still sends gets to read it. */
export function sendRefusal(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  value: object,
  headers: Record<string, string> = {},
): void {
  if (res.writableEnded) return;
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const body = JSON.stringify(value);
  res.statusCode = status;
  res.setHeader('content-type', 'application/json');
  res.setHeader('content-length', Buffer.byteLength(body));
  for (const [name, header] of Object.entries(headers)) res.setHeader(name, header);
  if (req.complete) {
    res.end(body);
    return;
  }
  // The whole answer goes out now, the end that closes the connection after what the client still sends: a reset in
  // the middle of its body could reach it before the answer does.
  res.setHeader('connection', 'close');
  res.write(body);
  drain(req, () => res.end());
}

/** What a client may see of anything thrown. */
export function presentable(thrown: unknown, log: Logger, context: Record<string, unknown>): VivError {
  if (thrown instanceof VivError && thrown.code !== 'internal') return thrown;
  const requestId = randomUUID();
  log.error({ err: thrown, requestId, ...context }, 'internal error');
  const message = thrown instanceof VivError ? thrown.message : 'internal error';
  return new VivError('internal', `${message} (request ${requestId})`, { details: { requestId } });
}
