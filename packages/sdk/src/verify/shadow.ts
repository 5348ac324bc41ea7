import type { Change } from '@vivarium/protocol/sandbox.ts';
import type { Files } from '../files.ts';
import { AS_ROOT } from './as-root.ts';
import { matchesAny } from './glob.ts';
import { FIRST_IN_PATH, LATER_IN_PATH } from './protection.ts';

/** More added programs than this are no work of hands; those beyond are left as they are, and reported all the same. */
const SHADOWS_MAX = 300;

/** Programs the agent added where a search of PATH comes first: they may hide the image's own. */
export class ShadowCollector {
  readonly #workspace: readonly string[];
  readonly #first: string[] = [];
  readonly #addedLater = new Set<string>();

  constructor(workspace: readonly string[]) {
    this.#workspace = workspace;
  }

  add({ path, change, type }: Change): void {
    if (change !== 'added' || type === 'dir') return;
    const slash = path.lastIndexOf('/');
    const directory = path.slice(0, slash);
    if (LATER_IN_PATH.includes(directory)) this.#addedLater.add(path.slice(slash + 1));
    if (!FIRST_IN_PATH.includes(directory) || this.#first.length >= SHADOWS_MAX) return;
    if (!matchesAny(this.#workspace, path)) this.#first.push(path);
  }

  /** Without those whose namesake the agent added too. */
  shadows(): string[] {
    return this.#first.filter((path) => !this.#addedLater.has(nameOf(path)));
  }
}

/** Removes those that hide a program of the image. */
export async function removeShadows(files: Files, shadows: readonly string[]): Promise<string[]> {
  const hiding = await Promise.all(shadows.map((path) => hides(files, path)));
  const removed = shadows.filter((_, index) => hiding[index]);
  await Promise.all(removed.map((path) => files.remove(path, { ...AS_ROOT, missingOk: true })));
  return removed;
}

async function hides(files: Files, path: string): Promise<boolean> {
  const there = await Promise.all(
    LATER_IN_PATH.map((directory) => files.exists(`${directory}/${nameOf(path)}`, AS_ROOT)),
  );
  return there.includes(true);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
