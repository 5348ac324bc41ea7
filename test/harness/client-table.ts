import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FILE = join(import.meta.dirname, '../../docs/e2b.md');

/** `yes`: as E2B does it; `differs`: the note says how; `no`: not at all. */
export type MethodState = 'yes' | 'differs' | 'no';

/** Rows `| \`method\` | state | note |` of docs/e2b.md. */
export function documentedMethods(): { method: string; state: MethodState; note: string }[] {
  const rows = readFileSync(FILE, 'utf8').matchAll(
    /^\| `([A-Za-z]+(?:\.[A-Za-z]+)+)` \| (yes|differs|no) \| ?(.*?) ?\|$/gm,
  );
  return [...rows].map(([, method, state, note]) => ({ method: method!, state: state as MethodState, note: note! }));
}
