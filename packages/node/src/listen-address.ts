import { isIP } from 'node:net';
import { VivError } from '@vivarium/protocol';

export type ListenAddress = { host: string; port: number };

/** `ADDR:PORT`, `[v6]:PORT`, `:PORT` (all addresses) or `PORT` (127.0.0.1). Port 0 picks a free one. Throws `invalid_argument`. */
export function parseListen(text: string, option = '--listen'): ListenAddress {
  const match = /^(?:(?<v6>\[[0-9a-fA-F:.]+\])|(?<host>[^:[\]]*))(?::(?<port>\d{1,5}))$|^(?<bare>\d{1,5})$/.exec(text);
  const { v6, host, port, bare } = match?.groups ?? {};
  const number = Number(port ?? bare ?? Number.NaN);
  const address = v6?.slice(1, -1) ?? (bare === undefined ? host || '0.0.0.0' : '127.0.0.1');
  if (match === null || number > 65_535 || (isIP(address) === 0 && address !== 'localhost')) {
    throw new VivError('invalid_argument', `${option}: '${text}' is not ADDR:PORT`, {
      hint: 'For example 127.0.0.1:7700 or 0.0.0.0:7700.',
    });
  }
  return { host: address, port: number };
}
