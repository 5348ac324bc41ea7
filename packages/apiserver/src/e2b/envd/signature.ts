import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { VivError } from '@vivarium/protocol';
import { sameSecret } from '../same-secret.ts';

/** Was the URL of this request for /files signed with this token? Whether the signature has expired is looked at later. */
export function signedBy(req: IncomingMessage, token: string): boolean {
  const query = queryOf(req);
  const given = query.get('signature');
  return given !== null && sameSecret(given, signatureOf(req, query, token));
}

/**
 * Admits a request for /files of a secure sandbox: by the header `X-Access-Token`, or by a signature over path, operation, user, token
 * and time. Throws `unauthenticated`.
 */
export function admitFiles(req: IncomingMessage, token: string): void {
  const header = req.headers['x-access-token'];
  if (typeof header === 'string' && header !== '') {
    if (sameSecret(header, token)) return;
    throw refusal('access token present in header but does not match');
  }
  const query = queryOf(req);
  if (!query.has('signature')) throw refusal('missing signature query parameter');
  if (!signedBy(req, token)) throw refusal('invalid signature');
  const expires = query.get('signature_expiration');
  // Part of what was signed, so a form that is no number was the client's own.
  if (expires !== null && !(Number(expires) >= Math.floor(Date.now() / 1000)))
    throw refusal('signature is already expired');
}

function refusal(message: string): VivError {
  return new VivError('unauthenticated', message);
}

/** `v1_` and the SHA-256 of `path:operation:user:token[:time]`, in base64 without padding. */
function signatureOf(req: IncomingMessage, query: URLSearchParams, token: string): string {
  const operation = req.method === 'POST' ? 'write' : 'read';
  const parts = [query.get('path') ?? '', operation, query.get('username') ?? '', token];
  const expires = query.get('signature_expiration');
  if (expires !== null) parts.push(expires);
  return `v1_${createHash('sha256').update(parts.join(':')).digest('base64').replace(/=+$/, '')}`;
}

function queryOf(req: IncomingMessage): URLSearchParams {
  return new URLSearchParams(req.url?.split('?')[1] ?? '');
}
