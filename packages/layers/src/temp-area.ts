import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from './tool.ts';

/** Scratch directories of builds, all below one 0700 directory, so that nothing outlives its build or, after a crash, the next open. */
export class TempArea {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
    mkdirSync(root, { recursive: true, mode: 0o700 });
  }

  /** Removes what a crashed process left behind. Only for the one process that owns the area. */
  async sweep(): Promise<number> {
    const leftovers = readdirSync(this.#root);
    for (const name of leftovers) await removeTree(join(this.#root, name));
    return leftovers.length;
  }

  /** Gives the work a directory of its own and removes it afterwards, however the work ended. */
  async use<T>(work: (directory: string) => Promise<T>): Promise<T> {
    const directory = mkdtempSync(join(this.#root, 'build-'));
    try {
      return await work(directory);
    } finally {
      await removeTree(directory);
    }
  }

  /** The same for work that leaves nothing but a few files: cheaper to remove. */
  async useForFiles<T>(work: (directory: string) => Promise<T>): Promise<T> {
    const directory = mkdtempSync(join(this.#root, 'pack-'));
    try {
      return await work(directory);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }
}

/** rm(1) rather than fs.rm: it copes with trees deeper than PATH_MAX and works outside this process. */
async function removeTree(directory: string): Promise<void> {
  await runTool('rm', ['-rf', '--one-file-system', '--', directory], {
    signal: new AbortController().signal,
    package: 'coreutils',
  });
}
