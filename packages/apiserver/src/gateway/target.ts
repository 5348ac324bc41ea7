import type { IncomingMessage } from 'node:http';
import { VivError } from '@vivarium/protocol';

/** A port inside a sandbox that a request is meant for. */
export type Target = {
  id: string;
  port: number;
  /** Path and query as the program inside shall see them. */
  path: string;
  /** What comes before it in this server's own address: '' in the host form. */
  prefix: string;
};

const PATH_FORM = /^(\/v1\/sandboxes\/([a-z0-9]{20})\/ports\/(\d{1,5}))(?=[/?]|$)/;
const HOST_FORM = /^(\d{1,5})-([a-z0-9]{20})\.(.+?)(?::\d+)?$/;

/**
 * `/v1/sandboxes/ID/ports/PORT/…` or, with a domain, `http://PORT-ID.DOMAIN/…`. Undefined: the request is not for a sandbox.
 * Throws `invalid_argument` for an impossible port.
 */
export function gatewayTarget(req: IncomingMessage, domain: string | undefined): Target | undefined {
  const url = req.url ?? '/';
  const host = domain === undefined ? undefined : HOST_FORM.exec((req.headers.host ?? '').toLowerCase());
  if (host && host[3] === domain!.toLowerCase().replace(/:\d+$/, '')) return target(host[2]!, host[1]!, url, '');
  const path = PATH_FORM.exec(url);
  if (!path) return undefined;
  const rest = url.slice(path[1]!.length);
  return target(path[2]!, path[3]!, rest.startsWith('/') ? rest : `/${rest}`, path[1]!);
}

function target(id: string, digits: string, path: string, prefix: string): Target {
  const port = Number(digits);
  if (port < 1 || port > 65_535)
    throw new VivError('invalid_argument', `port is ${port}; ports are 1 to 65535`, { details: { field: 'port' } });
  return { id, port, path, prefix };
}
