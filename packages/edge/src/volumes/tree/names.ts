import { VivError } from '@vivarium/protocol';

const PATH_BYTES_MAX = 4096;
const NAME_BYTES_MAX = 255;

/**
 * The names of a path in a volume, from the volume's root on, which is where it starts with a slash or without. `.` and `..` are
 * resolved as text, and none of them leads out. Throws `invalid_argument`.
 */
export function namesOf(path: Uint8Array): Buffer[] {
  if (path.length > PATH_BYTES_MAX) throw invalid(path, `is longer than ${PATH_BYTES_MAX} bytes`);
  if (path.includes(0)) throw invalid(path, 'contains a NUL byte');
  const names: Buffer[] = [];
  for (const name of split(Buffer.from(path))) {
    const text = name.toString('latin1');
    if (text === '..') names.pop();
    else if (text !== '' && text !== '.') names.push(name);
    if (name.length > NAME_BYTES_MAX) throw invalid(path, `has a name longer than ${NAME_BYTES_MAX} bytes`);
  }
  return names;
}

/** The path of these names as it is shown. */
export function pathOf(names: readonly Buffer[]): Buffer {
  if (names.length === 0) return Buffer.from('/');
  const slash = Buffer.from('/');
  return Buffer.concat(names.flatMap((name) => [slash, name]));
}

function split(path: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let from = 0; from <= path.length; ) {
    const slash = path.indexOf(0x2f, from);
    const to = slash < 0 ? path.length : slash;
    parts.push(path.subarray(from, to));
    from = to + 1;
  }
  return parts;
}

function invalid(path: Uint8Array, why: string): VivError {
  const shown = Buffer.from(path).toString().slice(0, 200);
  return new VivError('invalid_argument', `path "${shown}" ${why}`, { details: { field: 'path' } });
}
