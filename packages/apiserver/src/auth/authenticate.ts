import type { IncomingHttpHeaders } from 'node:http';
import { type Key, type Scope, VivError } from '@vivarium/protocol';
import type { KeyStore } from './key-store.ts';

/** Browsers can't set headers on a WebSocket: there the key comes as a second subprotocol, `viv-key.viv_…`. */
export const KEY_SUBPROTOCOL = 'viv-key.';

/** The secret a request carries: `Authorization: Bearer viv_…` or `X-API-Key: viv_…`. */
export function presentedSecret(headers: IncomingHttpHeaders): string | undefined {
  const { authorization } = headers;
  if (authorization !== undefined && /^bearer /i.test(authorization)) return authorization.slice(7).trim();
  const header = headers['x-api-key'];
  return typeof header === 'string' ? header.trim() : undefined;
}

/** The caller's key. Throws `unauthenticated`. */
export function authenticate(keys: KeyStore, secret: string | undefined): Key {
  if (secret === undefined) throw new VivError('unauthenticated', 'no API key given');
  const key = keys.verify(secret);
  if (!key) throw new VivError('unauthenticated', 'the API key is not known here (anymore)');
  return key;
}

/** Throws `forbidden` unless the key has one of the scopes (or `admin`). */
export function authorize(key: Key, scopes: readonly Scope[] | 'any'): void {
  if (scopes === 'any' || key.scopes.includes('admin')) return;
  if (scopes.some((scope) => key.scopes.includes(scope))) return;
  throw new VivError('forbidden', `the key "${key.name}" lacks the scope ${scopes.join(' or ')}`, {
    details: { scopes, has: key.scopes },
  });
}
