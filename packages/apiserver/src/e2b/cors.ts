import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * Pages of any origin may use the surface, with any header: callers are known by keys and tokens that scripts send on purpose, never by
 * cookies. Returns true for a preflight, which is answered here.
 */
export function allowE2bOrigins(req: IncomingMessage, res: ServerResponse): boolean {
  if (req.headers.origin === undefined) return false;
  res.setHeader('access-control-allow-origin', '*');
  res.setHeader('access-control-expose-headers', '*');
  if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined) return false;
  res.setHeader('access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE');
  const asked = req.headers['access-control-request-headers'];
  if (typeof asked === 'string') res.setHeader('access-control-allow-headers', asked);
  res.setHeader('access-control-max-age', '7200');
  res.writeHead(204).end();
  return true;
}
