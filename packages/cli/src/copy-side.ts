import { bad } from './complaint.ts';

/** One side of a copy: a local path, a path in a sandbox, or a tar on standard input or output. */
export type Side =
  | { kind: 'local'; path: string }
  | { kind: 'sandbox'; sandbox: string; path: string }
  | { kind: 'tar' };

/** `ID:/path`, a local path, or `-`. A local path that has a colon is written with `./` before it. */
export function parseSide(text: string): Side {
  if (text === '-') return { kind: 'tar' };
  const match = /^([a-z0-9][a-z0-9-]*):(.*)$/s.exec(text);
  if (!match) return { kind: 'local', path: text };
  if (match[2] === '')
    throw bad(`no path after \`${match[1]}:\``, 'Write SANDBOX:/path (or SANDBOX:~ for the home directory).');
  return { kind: 'sandbox', sandbox: match[1]!, path: match[2]! };
}

/** The last component of a path, without slashes at the end. */
export function lastComponent(path: string): string {
  return path.replace(/\/+$/, '').split('/').at(-1)!;
}
