import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Pages of any origin may use the API: it knows its callers by keys that scripts send on purpose, never by cookies, so there is
 * nothing that another page could misuse. (Ports of sandboxes do as the program inside says.) Returns true for a preflight, which is answered here.
 */
export function allowOrigins(req: IncomingMessage, res: ServerResponse): boolean {
  if (req.headers.origin === undefined) return false;
  res.setHeader('access-control-allow-origin', '*');
  res.setHeader('access-control-expose-headers', 'x-viv-entry, content-range, retry-after');
  if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined) return false;
  res.setHeader('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE');
  res.setHeader(
    'access-control-allow-headers',
    'authorization, content-type, idempotency-key, range, x-api-key, x-viv-token',
  );
  res.setHeader('access-control-max-age', '86400');
  res.writeHead(204).end();
  return true;
}
