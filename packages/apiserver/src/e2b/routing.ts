import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { VivError } from '@vivarium/protocol';

export const ENVD_PORT = 49_983;

/** What a request is for: the control plane, a port of a sandbox, a file whose signature tells the sandbox, or a browser's question whether it may name one. */
export type E2bTarget =
  | { kind: 'control'; path: string }
  | { kind: 'port'; id: string; port: number; byHost: boolean }
  | { kind: 'signed' }
  | { kind: 'preflight' };

/** First segments of the control plane's paths, after a version. None of them is a native one: those begin with /v1. */
const CONTROL = new Set([
  'sandboxes',
  'snapshots',
  'templates',
  'volumes',
  'volumecontent',
  'secrets',
  'teams',
  'health',
]);
const HOST_FORM = /^(\d{1,5})-([a-z0-9]{20})(?:-[a-z0-9]+)?\.(.+)$/;
const ID = /^([a-z0-9]+)(?:-[a-z0-9]+)?$/;

/**
 * By host name `<port>-<id>.<domain>`; by the headers E2b-Sandbox-Id and E2b-Sandbox-Port, which count only where the host says
 * nothing: localhost, an address or `sandbox.<domain>`; else by path. Undefined: none of E2B's. Throws `invalid_argument`.
 */
export function e2bTarget(req: IncomingMessage, domain: string | undefined): E2bTarget | undefined {
  const host = hostOf(req);
  const own = domain === undefined ? undefined : withoutPort(domain.toLowerCase());
  const named = own === undefined ? null : HOST_FORM.exec(host);
  if (named && named[3] === own) return { kind: 'port', id: named[2]!, port: portOf(named[1]!), byHost: true };
  const id = req.headers['e2b-sandbox-id'];
  if (typeof id === 'string' && isPlain(host, own)) {
    const port = req.headers['e2b-sandbox-port'];
    return {
      kind: 'port',
      id: sandboxId(id),
      port: portOf(typeof port === 'string' ? port : `${ENVD_PORT}`),
      byHost: false,
    };
  }
  if (req.method === 'OPTIONS' && isPlain(host, own) && asksToName(req)) return { kind: 'preflight' };
  const path = (req.url ?? '/').split('?', 1)[0]!;
  if (path === '/files') return { kind: 'signed' };
  const [, first = '', second = ''] = path.split('/', 3);
  return CONTROL.has(/^v[2-9]$/.test(first) ? second : first) ? { kind: 'control', path } : undefined;
}

/** Older clients append the client's id: `<id>-<client id>`. */
export function sandboxId(text: string): string {
  return ID.exec(text)?.[1] ?? text;
}

/** The preflight of a request that will name its sandbox by header: it names none itself. */
function asksToName(req: IncomingMessage): boolean {
  return /(?:^|[\s,])e2b-sandbox-id(?:$|[\s,])/i.test(req.headers['access-control-request-headers'] ?? '');
}

/** Hosts that stand for the server and not for one sandbox. */
function isPlain(host: string, domain: string | undefined): boolean {
  if (host === 'localhost' || isIP(host) !== 0) return true;
  return domain !== undefined && host === `sandbox.${domain}`;
}

/** In lower case, without port and brackets. */
function hostOf(req: IncomingMessage): string {
  return withoutPort((req.headers.host ?? '').toLowerCase());
}

function withoutPort(host: string): string {
  return host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1');
}

function portOf(digits: string): number {
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new VivError('invalid_argument', `port is "${digits.slice(0, 20)}"; ports are 1 to 65535`, {
    details: { field: 'port' },
  });
}
