import { isIP } from 'node:net';
import { VivError } from '@vivarium/protocol';
import type { E2bNetwork } from '@vivarium/protocol/e2b/control.ts';

/** As E2B's clients name everything that could be reached. */
const ALL_TRAFFIC = '0.0.0.0/0';
const DOMAIN = /^(?:\*|(?:\*\.)?(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)$/i;
const MASK = /^[a-z0-9.${}_-]+(?::(?:\d{1,5}|\$\{PORT\}))?$/i;

/**
 * Addresses, ranges and (in `allowOut` alone) domain names; a name says something only where all else is denied. Throws `invalid_argument`.
 * What is allowed here opens nothing: the node's own policy has the last word, and it is `none`.
 */
export function checkNetwork({ allowOut, denyOut, maskRequestHost, rules, egressProxy }: E2bNetwork): void {
  for (const entry of denyOut ?? [])
    if (!isRange(withoutPort(entry))) throw invalid(`invalid denied CIDR ${entry}`, 'network.denyOut');
  const names = (allowOut ?? []).filter((entry) => !isRange(withoutPort(entry)));
  for (const name of names)
    if (looksNumeric(name) || !DOMAIN.test(withoutPort(name)))
      throw invalid(`invalid allowed address ${name}`, 'network.allowOut');
  if (names.length > 0 && !(denyOut ?? []).includes(ALL_TRAFFIC))
    throw invalid(
      `allowOut has the domain ${names[0]}: then denyOut must include '${ALL_TRAFFIC}' (ALL_TRAFFIC) to block all other traffic`,
      'network.denyOut',
    );
  if (maskRequestHost && !MASK.test(maskRequestHost))
    throw invalid(`mask request host is not valid: ${maskRequestHost}`, 'network.maskRequestHost');
  for (const domain of Object.keys(rules ?? {}))
    if (!DOMAIN.test(withoutPort(domain)))
      throw invalid(`rule domain "${domain}" is not a domain name`, 'network.rules');
  if (egressProxy && !/^[^\s:/]+:\d{1,5}$/.test(egressProxy.address))
    throw invalid(`egress proxy address "${egressProxy.address}" is not HOST:PORT`, 'network.egressProxy');
}

/** As it is kept: without the proxy's password, which nothing here could use. */
export function keptNetwork<N extends Partial<E2bNetwork>>(network: N): N {
  const { egressProxy } = network;
  return egressProxy
    ? { ...network, egressProxy: { address: egressProxy.address, username: egressProxy.username } }
    : network;
}

/** As it may be told: without what was not given, and never a password. */
export function shownNetwork(network: E2bNetwork): object {
  const { egressProxy, ...rest } = network;
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== null && value !== undefined));
  if (!egressProxy) return given;
  const { address, username } = egressProxy;
  return { ...given, egressProxy: { address, ...(username && { username }) } };
}

/** An address, or one with the length of a prefix. */
function isRange(text: string): boolean {
  const [address = '', prefix] = text.split('/', 2);
  const version = isIP(address);
  if (version === 0 || text.split('/').length > 2) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128));
}

/** A broken address must not pass as a domain name. */
function looksNumeric(text: string): boolean {
  return /^[\d.:/]+$/.test(text) || text.includes('/');
}

function withoutPort(text: string): string {
  return isIP(text) === 6 ? text : text.replace(/(?<=^[^:]+):\d{1,5}$/, '');
}

function invalid(message: string, field: string): VivError {
  return new VivError('invalid_argument', message, { details: { field } });
}
