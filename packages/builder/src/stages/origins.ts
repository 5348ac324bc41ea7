import type { Instruction } from '../dockerfile/instruction.ts';
import type { FileTree } from '../files/tree.ts';
import type { Base } from '../workshop.ts';

/** Where the files of a COPY or a mount come from, besides here-documents. */
export type Origins = {
  /** Without what .dockerignore leaves out. */
  context: FileTree;
  /** Does .dockerignore leave this path out? */
  ignored(path: string): boolean;
  /** Another stage or an image. `tree` reads what the sources name; it is called only when the step is not in the cache. */
  image(from: string, at: Instruction, sources: readonly string[]): Promise<{ base: Base; tree(): Promise<FileTree> }>;
};
