export type Range = { offset: number; length: number };

/**
 * A `Range` header (RFC 9110, section 14.2) against a size: the part to send, `undefined` for all of it (no header, several
 * ranges, or one that isn't understood: a server may ignore those), `'unsatisfiable'` for 416.
 */
export function parseRange(header: string | undefined, sizeBytes: number): Range | undefined | 'unsatisfiable' {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '');
  if (!match) return undefined;
  const [first, last] = [match[1]!, match[2]!];
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes);
    return length === 0 ? 'unsatisfiable' : { offset: sizeBytes - length, length };
  }
  const offset = Number(first);
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1);
  if (last !== '' && Number(last) < offset) return undefined;
  return offset >= sizeBytes ? 'unsatisfiable' : { offset, length: end - offset + 1 };
}
