import { LowerDirectory } from './lower.ts';

/** Directories that are searched for programs, in the order of the search, and what the image has in them. */
export class Programs {
  readonly #directories: readonly string[];
  readonly #image: readonly (LowerDirectory | null)[];

  /** `layers`: where the image's are mounted, lowest first. */
  constructor(directories: readonly string[], layers: readonly string[]) {
    this.#directories = directories.map((path) => Buffer.from(path.replace(/\/+$/, '')).toString('latin1'));
    this.#image = this.#directories.map((path) => find(LowerDirectory.root(layers), path));
  }

  /** Would what was added there be found before a program of the image, by itself or as a link to another directory? */
  isHiding(added: Buffer): boolean {
    if (this.#directories.length === 0) return false;
    const path = added.toString('latin1');
    if (this.#directories.some((directory) => directory === path || directory.startsWith(`${path}/`))) return true;
    const slash = path.lastIndexOf('/');
    const index = this.#directories.indexOf(path.slice(0, slash));
    if (index < 0) return false;
    const name = Buffer.from(path.slice(slash + 1), 'latin1');
    return this.#image.slice(index + 1).some((directory) => directory?.lookup(name) !== undefined);
  }
}

/** Null where the image has no directory of its own: what it has behind a link is found where the link leads. */
function find(root: LowerDirectory, path: string): LowerDirectory | null {
  let at = root;
  for (const step of path.split('/').filter((name) => name !== '')) {
    const entry = at.lookup(Buffer.from(step, 'latin1'));
    if (!entry?.stat.isDirectory()) return null;
    at = entry.directory;
  }
  return at;
}
