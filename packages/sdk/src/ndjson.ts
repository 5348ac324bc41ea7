import { VivError } from '@vivarium/protocol/viv-error.ts';
import { bodyOf } from './http.ts';

/** Longest line that is accepted. */
const LINE_MAX_CHARS = 8 * 1024 * 1024;

/** Parses a body of one JSON value per line while it arrives. */
export async function* ndjson<T>(response: Response): AsyncGenerator<T> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bodyOf(response)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LINE_MAX_CHARS) throw new VivError('internal', 'the server sent a line without end');
    for (const line of lines) if (line !== '') yield parse<T>(line);
  }
  rest += decoder.decode();
  if (rest.trim() !== '') yield parse<T>(rest);
}

/** A stream can fail half-way: then its last line is an error body. */
function parse<T>(line: string): T {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new VivError('connection_lost', 'the server’s answer broke off', { cause });
  }
  const keys = Object.keys(value as object);
  if (keys.length === 1 && keys[0] === 'error') throw VivError.fromBody(value);
  return value as T;
}
