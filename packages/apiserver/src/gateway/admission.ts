import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Edge } from '@vivarium/edge/edge.ts';
import { VivError } from '@vivarium/protocol';
import { authenticate, authorize, presentedSecret } from '../auth/authenticate.ts';
import type { KeyStore } from '../auth/key-store.ts';
import { ownEdge } from '../tenancy/own-edge.ts';
import { cookieValue, TOKEN_COOKIE, TOKEN_HEADER, TOKEN_QUERY } from './credentials.ts';
import { schemeOf } from './headers.ts';
import type { Target } from './target.ts';

export type Admission = {
  /** The header that makes a browser carry the token from now on. */
  setCookie?: string | undefined;
  /** Values of headers that the program inside must not see, besides keys and tokens in their usual places. */
  secrets?: readonly string[];
  /** What it shall see as `Host`. */
  host?: string | undefined;
  /** It speaks TLS, with whatever certificate. */
  tls?: boolean | undefined;
};

/**
 * May this request talk to that sandbox's ports? With the API key that made the sandbox (or one with the scope `admin`), or with the sandbox's own token in the
 * header `X-Viv-Token`, the query `viv_token` or the cookie. Whether a sandbox exists is told to keys only. Throws `unauthenticated`, `forbidden`, `sandbox_not_found`.
 */
export function admit(req: IncomingMessage, target: Target, keys: KeyStore, edge: Edge): Admission {
  const secret = presentedSecret(req.headers);
  if (secret !== undefined && /^(viv|e2b)_/.test(secret)) {
    const key = authenticate(keys, secret);
    authorize(key, ['sandboxes']);
    ownEdge(edge, key).sandboxes.owner(target.id);
    return {};
  }
  const header = req.headers[TOKEN_HEADER];
  const query = new URLSearchParams(target.path.split('?')[1] ?? '').get(TOKEN_QUERY);
  const token = typeof header === 'string' ? header : (query ?? cookieValue(req.headers.cookie, TOKEN_COOKIE));
  if (token === undefined || token === '') {
    throw new VivError('unauthenticated', 'a port of a sandbox needs an API key or the sandbox’s token', {
      hint: 'Send the token as `X-Viv-Token` or `?viv_token=`; inspecting the sandbox shows it.',
    });
  }
  if (!matches(token, tokenOf(edge, target.id)))
    throw new VivError('unauthenticated', 'the token does not open this sandbox');
  return { setCookie: query === token ? cookie(req, target, token) : undefined };
}

function tokenOf(edge: Edge, id: string): string | undefined {
  try {
    return edge.sandboxes.token(id);
  } catch {
    return undefined;
  }
}

function matches(given: string, expected: string | undefined): boolean {
  const same = timingSafeEqual(digest(given), digest(expected ?? ''));
  return same && expected !== undefined && expected !== '';
}

const digest = (text: string) => createHash('sha256').update(text).digest();

/** For this sandbox's addresses only, out of the reach of scripts, not sent along by other sites. */
function cookie(req: IncomingMessage, target: Target, token: string): string {
  const path = target.prefix === '' ? '/' : `${target.prefix.slice(0, target.prefix.lastIndexOf('/'))}/`;
  const secure = schemeOf(req) === 'https' ? '; Secure' : '';
  return `${TOKEN_COOKIE}=${encodeURIComponent(token)}; Path=${path}; HttpOnly; SameSite=Lax${secure}`;
}
