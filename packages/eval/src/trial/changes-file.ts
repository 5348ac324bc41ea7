import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Change } from '@vivarium/sdk';

const FILE = 'changes.ndjson';
/** Beyond this many the list says how many more there are. */
const CHANGES_MAX = 20_000;

/** The paths that an agent changed, gathered while its state is taken: what `viv trial diff` shows. */
export class ChangesFile {
  readonly #path: string;
  readonly #lines: string[] = [];
  #count = 0;

  constructor(dir: string) {
    this.#path = join(dir, FILE);
  }

  add(change: Change): void {
    if (this.#count++ < CHANGES_MAX) this.#lines.push(JSON.stringify(change));
  }

  /** Returns how many are not in the file. */
  write(): number {
    writeFileSync(this.#path, this.#lines.map((line) => `${line}\n`).join(''));
    return Math.max(0, this.#count - CHANGES_MAX);
  }
}

/** Null: the trial has none. */
export function readChanges(dir: string): Change[] | null {
  try {
    return readFileSync(join(dir, FILE), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Change);
  } catch {
    return null;
  }
}
