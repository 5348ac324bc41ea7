import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';

const EXAMPLES = resolve(import.meta.dirname, '../../examples');
export const TASKS = join(EXAMPLES, 'tasks');

/** A solution that cheats: a script, run as an agent's command. `task`: the only one it is for, a folder; null: every task. */
export type Cheat = { name: string; task: string | null; command: string };

/** What ships in examples/cheats and in the tasks' own cheats/. */
export function listCheats(): Cheat[] {
  return [
    ...scriptsIn(join(EXAMPLES, 'cheats'), null),
    ...taskFolders().flatMap((task) => scriptsIn(join(TASKS, task, 'cheats'), task)),
  ];
}

export function taskFolders(): string[] {
  return readdirSync(TASKS).sort();
}

function scriptsIn(directory: string, task: string | null): Cheat[] {
  return readdirSync(directory)
    .filter((file) => file.endsWith('.sh'))
    .sort()
    .map((file) => ({ name: basename(file, '.sh'), task, command: readFileSync(join(directory, file), 'utf8') }));
}
