import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { VivError } from '@vivarium/protocol';

/** RFC 9110, 7.6.1: they concern one connection only. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** How long a request is. Connections to an endpoint are shared: that is said anew, never taken over. */
const FRAMING = ['content-length', 'expect'];
/** `..` as a part of a path, with either slash, and with the parameters that some servers cut off. */
const PARENT = /(^|[/\\])\.\.(?=[/\\;]|$)/;
/** How often a path is decoded in search of `..`: a proxy before the endpoint may decode it once more. */
const DECODINGS = 3;

/**
 * Path and query for the endpoint: what the program inside asked for, below the path that was named. The name of another server
 * (absolute form, RFC 9112, 3.2.2) is dropped. Throws `reach_denied` for what is no path or would leave the one that was named.
 */
export function reachPath(base: string, asked: string): string {
  const path = asked.replace(/^https?:\/\/[^/?#]*/i, '').replace(/^(?=\?|$)/, '/');
  const prefix = base.replace(/\/+$/, '');
  const server = asked === '*';
  if (server || !path.startsWith('/') || (prefix !== '' && leaves(path)))
    throw new VivError('reach_denied', `the path is not below the one that was named: ${asked.slice(0, 200)}`);
  return prefix + path;
}

/** Headers of the answer or the request that concern both ends, without those that a Connection header names. */
export function endToEnd(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = new Set((headers.connection ?? '').toLowerCase().split(/\s*,\s*/));
  const kept: Record<string, string | string[]> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !HOP_BY_HOP.has(name) && !named.has(name)) kept[name] = value;
  }
  return kept;
}

/**
 * What a program inside may say to the endpoint in headers: nothing that only we say (`ours`, and all that begins with
 * `X-Vivarium-`), also not spelled with `_`, which some servers take for `-`, and nothing of where its request ends.
 */
export function headersFromInside(headers: IncomingHttpHeaders, ours: string[]): Record<string, string | string[]> {
  const reserved = new Set([...ours.map(plain), ...FRAMING]);
  const entries = Object.entries(endToEnd(headers));
  return Object.fromEntries(
    entries.filter(([name]) => !reserved.has(plain(name)) && !plain(name).startsWith('x-vivarium-')),
  );
}

/** Where a forwarded body ends, as the request was read. Without it Node would send the body of a GET as if it were the next request. */
export function framing({ headers }: IncomingMessage): Record<string, string> {
  if (headers['transfer-encoding'] !== undefined) return { 'transfer-encoding': 'chunked' };
  return headers['content-length'] === undefined ? {} : { 'content-length': headers['content-length'] };
}

const plain = (name: string) => name.toLowerCase().replaceAll('_', '-');

function leaves(path: string): boolean {
  let text = path.split(/[?#]/)[0]!;
  for (let round = 0; round <= DECODINGS; round++) {
    if (PARENT.test(text)) return true;
    text = text.replace(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  return false;
}
