/**
 * How a file is to be sent, by `Accept-Encoding` (RFC 9110, section 12.5.3): gzip only where the client names it and nothing else, as
 * E2B's do when they are told to. The many that clients name by themselves are no wish: on a near network compression costs more time
 * than it saves. Null: nothing that we have will do.
 */
export function codingFor(header: string | string[] | undefined, whole: boolean): 'identity' | 'gzip' | null {
  const wishes = parse(typeof header === 'string' ? header : '');
  const gzip = wishes.get('gzip') ?? wishes.get('x-gzip') ?? 0;
  const others = [...wishes].some(([name, quality]) => name !== 'gzip' && name !== 'x-gzip' && quality > 0);
  const identity = wishes.get('identity') ?? wishes.get('*') ?? 1;
  if (gzip > 0 && whole && (!others || identity === 0)) return 'gzip';
  return identity > 0 ? 'identity' : null;
}

/** Codings in lower case with their quality. */
function parse(header: string): Map<string, number> {
  const wishes = new Map<string, number>();
  for (const item of header.split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    if (name !== '') wishes.set(name, quality === undefined ? 1 : Number(quality) || 0);
  }
  return wishes;
}
