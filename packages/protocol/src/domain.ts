import { VivError } from './viv-error.ts';

const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const DOMAIN = new RegExp(`^${LABEL}(\\.${LABEL})*(:\\d{1,5})?$`, 'i');

/** A host name (RFC 1123) below which sandboxes have names, with a port or without, as it was given. Throws `invalid_argument`. */
export function checkedDomain(text: string): string {
  const port = Number(text.split(':')[1] ?? 1);
  if (DOMAIN.test(text) && text.length <= 200 && port >= 1 && port <= 65_535) return text;
  throw new VivError('invalid_argument', `--domain "${text.slice(0, 200)}" is no host name`, {
    hint: 'Give a name such as viv.example.com or viv.example.com:7700, without https://.',
  });
}
