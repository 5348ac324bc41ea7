import { VivError } from '@vivarium/protocol';

/** One call to the spawner; with `stream` the answer comes in batches, each asked for by `next`. */
export type Call = { call: number; op: string; params: unknown };
export type Next = { next: number };
export type Cancel = { cancel: number };
export type Request = Call | Next | Cancel;

/** `done` is the last answer of a call; `batch` one of many. */
export type Answer =
  | { to: number; done: unknown }
  | { to: number; batch: unknown[] }
  | { to: number; error: ReturnType<VivError['toBody']> };

/** A line longer than this is a bug, not a message. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** Cuts a byte stream into JSON lines. Both ends are ours: a malformed line is a broken invariant and throws. */
export function createLineReader<T>(onMessage: (message: T) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > LINE_BYTES_MAX) throw new VivError('internal', 'a message to or from the spawner is too long');
    for (const line of lines) onMessage(JSON.parse(line) as T);
  };
}

/** One message as a line. */
export function toLine(message: Request | Answer): string {
  return `${JSON.stringify(message)}\n`;
}
