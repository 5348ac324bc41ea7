import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Admission } from './admission.ts';
import { setsOurCookie, withoutCredentials } from './credentials.ts';
import type { Target } from './target.ts';

/** Between two neighbours only (RFC 9110, section 7.6.1), besides those that `Connection` names. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
]);
/** Replaces `Host` for programs that insist on their own name. */
const HOST_OVERRIDE = 'x-viv-host';

/** Headers for the program inside: end-to-end ones in their order and spelling, without our credentials, with X-Forwarded-*. */
export function requestHeaders(
  req: IncomingMessage,
  target: Target,
  { host, secrets = [] }: Admission,
  upgrade: boolean,
): string[] {
  const headers: string[] = [];
  const named = connectionNames(req.headers.connection);
  const override = host ?? single(req.headers[HOST_OVERRIDE]);
  for (const [name, value] of pairs(req.rawHeaders)) {
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || named.has(lower) || lower === HOST_OVERRIDE || lower.startsWith('x-forwarded-'))
      continue;
    if (secrets.includes(value)) continue;
    const allowed = lower === 'host' && override !== undefined ? override : withoutCredentials(name, value);
    if (allowed !== undefined) headers.push(name, allowed);
  }
  if (upgrade) headers.push('Connection', 'Upgrade', 'Upgrade', req.headers.upgrade ?? 'websocket');
  else headers.push('Connection', 'close');
  if (req.headers['transfer-encoding'] !== undefined) headers.push('Transfer-Encoding', 'chunked');
  headers.push('X-Forwarded-For', forwardedFor(req), 'X-Forwarded-Proto', schemeOf(req));
  if (req.headers.host !== undefined)
    headers.push('X-Forwarded-Host', single(req.headers['x-forwarded-host']) ?? req.headers.host);
  if (target.prefix !== '') headers.push('X-Forwarded-Prefix', target.prefix);
  return headers;
}

/** Headers for the client. `upgraded`: the answer switches protocols, so Connection and Upgrade are part of it. */
export function responseHeaders(answer: IncomingMessage, setCookie: string | undefined, upgraded: boolean): string[] {
  const headers: string[] = [];
  const named = connectionNames(answer.headers.connection);
  for (const [name, value] of pairs(answer.rawHeaders)) {
    const lower = name.toLowerCase();
    if (HOP_BY_HOP.has(lower) || (named.has(lower) && lower !== 'close')) continue;
    if (setsOurCookie(name, value)) continue;
    headers.push(name, value);
  }
  if (upgraded) headers.push('Connection', 'Upgrade', 'Upgrade', answer.headers.upgrade ?? 'websocket');
  if (setCookie !== undefined) headers.push('Set-Cookie', setCookie);
  return headers;
}

/** As the client sees it: a proxy before this server may have ended its TLS. */
export function schemeOf(req: IncomingMessage): string {
  return single(req.headers['x-forwarded-proto']) ?? (req.socket instanceof TLSSocket ? 'https' : 'http');
}

function* pairs(raw: string[]): Iterable<[string, string]> {
  for (let i = 0; i + 1 < raw.length; i += 2) yield [raw[i]!, raw[i + 1]!];
}

function connectionNames(header: string | undefined): Set<string> {
  return new Set((header ?? '').split(',').map((name) => name.trim().toLowerCase()));
}

function forwardedFor(req: IncomingMessage): string {
  const before = single(req.headers['x-forwarded-for']);
  const peer = req.socket.remoteAddress ?? 'unknown';
  return before === undefined ? peer : `${before}, ${peer}`;
}

const single = (header: string | string[] | undefined) => (Array.isArray(header) ? header[0] : header);
