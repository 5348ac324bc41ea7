import { VivError } from '@vivarium/protocol';

const PATH_BYTES_MAX = 4096;

/**
 * The bytes of a path given as text or as base64 (exactly one of the two). A path inside is absolute or relative to the
 * user's working directory; it is resolved inside the sandbox, never here. Throws `invalid_argument`.
 */
export function pathBytes(text: string | undefined, base64: string | undefined, name = 'path'): Uint8Array {
  if ((text === undefined) === (base64 === undefined))
    throw bad(name, text === undefined ? 'is required' : `and ${name}B64 exclude each other`);
  const bytes = text !== undefined ? Buffer.from(text, 'utf8') : decode(base64!, name);
  if (bytes.length === 0) throw bad(name, 'is empty');
  if (bytes.length > PATH_BYTES_MAX) throw bad(name, `is longer than ${PATH_BYTES_MAX} bytes`);
  if (bytes.includes(0)) throw bad(name, 'contains a NUL byte');
  return bytes;
}

function decode(base64: string, name: string): Buffer {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(base64)) throw bad(`${name}B64`, 'is not base64');
  return Buffer.from(base64, 'base64');
}

function bad(name: string, why: string): VivError {
  return new VivError('invalid_argument', `${name} ${why}`, { details: { field: name } });
}
