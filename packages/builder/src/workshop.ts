import type { ImageConfig } from '@vivarium/protocol';
import type { Source } from './files/selection.ts';
import type { FileTree } from './files/tree.ts';

/** An image that a step starts from or has made. `layers` (digests, lowest first) say what its files are. */
export type Base = { image: string; layers: readonly string[]; config: ImageConfig };

/** A directory that WORKDIR or a mount asks for; made before the action, with its parents. */
export type Directory = { path: string; user: string | null };

/** Files that are there while a RUN runs and not in its layer. */
export type RunMount = {
  target: string;
  mode: number;
  owner: string;
  /** What a `bind` brings; null: an empty directory (`cache`, `tmpfs`). */
  sources: (() => Promise<Source[]>) | null;
};

export type RunAction = {
  type: 'run';
  argv: string[];
  /** Content of a here-document that is the program itself, lies at `HEREDOC_PATH` meanwhile. */
  script: string | null;
  env: Record<string, string>;
  cwd: string;
  user: string | null;
  network: 'none' | 'node';
  mounts: RunMount[];
};

export type CopyAction = {
  type: 'copy';
  sources(): Promise<Source[]>;
  /** Absolute. */
  target: string;
  /** The target is a directory even if it is not there yet. */
  intoDirectory: boolean;
  /** `user[:group]`, looked up in the image; null: as the source says. */
  owner: string | null;
  /** Octal mode, or null: as the source says. */
  mode: number | null;
  /** Archives among the sources are unpacked. */
  extracts: boolean;
};

/** What becomes one layer. */
export type Step = {
  /** Hex digest of all that its result depends on. */
  key: string;
  parent: Base;
  directories: readonly Directory[];
  action: RunAction | CopyAction | null;
  /** The instruction, for the layer's `createdBy`. */
  text: string;
  /** Config of the sandbox. */
  config: ImageConfig;
  /** Not from the cache. */
  fresh: boolean;
};

/** Where here-documents with a `#!` line lie while they run: outside the image's files. */
export const HEREDOC_PATH = '/dev/shm/viv-heredoc';

/**
 * What carries out a plan: the edge, with its sandboxes and its image store. Every method throws VivError; one that is about a step
 * (`build_failed`) gets file and line added by the caller.
 */
export interface Workshop {
  /** The image a FROM (or --from) names that is no stage: by the map, of this node, or brought from a registry. Throws `image_not_found`. */
  base(reference: string): Promise<Base>;
  /** An image of nothing. */
  scratch(): Promise<Base>;
  /** The image after the step. `cached`: it was there. */
  perform(step: Step): Promise<{ base: Base; cached: boolean }>;
  /** The files of an image that the sources (absolute paths or patterns) name. */
  files(base: Base, sources: readonly string[]): Promise<FileTree>;
}
