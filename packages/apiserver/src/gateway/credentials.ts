export const TOKEN_HEADER = 'x-viv-token';
export const TOKEN_QUERY = 'viv_token';
export const TOKEN_COOKIE = 'viv_token';

/** A cookie's value, decoded. */
export function cookieValue(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [left, ...right] = pair.trim().split('=');
    if (left === name) return decode(right.join('='));
  }
  return undefined;
}

/** The path without the token, everything else as it was. */
export function withoutToken(path: string): string {
  const mark = path.indexOf('?');
  if (mark < 0) return path;
  const rest = path
    .slice(mark + 1)
    .split('&')
    .filter((pair) => decode(pair.split('=')[0]!) !== TOKEN_QUERY);
  return rest.length === 0 ? path.slice(0, mark) : `${path.slice(0, mark)}?${rest.join('&')}`;
}

/**
 * A header as the program inside may see it: our keys and tokens never go in, whether or not they were what let the request
 * through; its own credentials do. Undefined: leave the header out.
 */
export function withoutCredentials(name: string, value: string): string | undefined {
  switch (name.toLowerCase()) {
    case 'authorization':
      return /^bearer\s+(?:viv|e2b)_/i.test(value) ? undefined : value;
    case 'x-api-key':
      return /^(?:viv|e2b)_/.test(value.trim()) ? undefined : value;
    case TOKEN_HEADER:
      return undefined;
    case 'referer':
      return withoutToken(value);
    case 'sec-websocket-protocol':
      return keep(value, ',', (part) => !part.startsWith('viv-key.'));
    case 'cookie':
      return keep(value, ';', (part) => part.split('=')[0] !== TOKEN_COOKIE);
    default:
      return value;
  }
}

/** A program inside must not hand out cookies in our name. */
export function setsOurCookie(name: string, value: string): boolean {
  return name.toLowerCase() === 'set-cookie' && value.split(/[=;]/)[0]!.trim() === TOKEN_COOKIE;
}

function keep(list: string, separator: string, wanted: (part: string) => boolean): string | undefined {
  const parts = list.split(separator).map((part) => part.trim());
  const kept = parts.filter(wanted);
  if (kept.length === parts.length) return list;
  return kept.length === 0 ? undefined : kept.join(`${separator} `);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
