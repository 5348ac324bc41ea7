import type { ImageConfig } from '@vivarium/protocol';
import { invalid } from '../dockerfile/complaint.ts';
import { ExpansionError, expandText, expandWord } from '../dockerfile/expansion.ts';
import type { Dockerfile, Instruction } from '../dockerfile/instruction.ts';
import type { Base, Directory } from '../workshop.ts';

/** What runc gives a container whose image says nothing. */
const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
export const DEFAULT_SHELL = ['/bin/sh', '-c'];

/** How far a stage has come: its files (an image), its config, its arguments. */
export class StageState {
  readonly dockerfile: Dockerfile;
  base: Base;
  readonly config: ImageConfig;
  /** Values of ARGs that are declared by now. */
  readonly args = new Map<string, string>();
  /** CMD of the image below does not go with an ENTRYPOINT of this stage. */
  ownCmd = false;
  /** Directories of WORKDIR that the next step makes. */
  directories: Directory[] = [];
  /** The last instruction that asked for one. */
  directoriesFrom: Instruction | null = null;

  constructor(dockerfile: Dockerfile, base: Base) {
    this.dockerfile = dockerfile;
    this.base = base;
    this.config = structuredClone(base.config);
    this.config.env.PATH ??= DEFAULT_PATH;
  }

  get shell(): string[] {
    return this.config.shell ?? DEFAULT_SHELL;
  }

  readonly lookup = (name: string): string | undefined =>
    Object.hasOwn(this.config.env, name) ? this.config.env[name] : this.args.get(name);

  expand(word: string, at: Instruction): string {
    return expanded(word, this.lookup, at, this.dockerfile);
  }

  expandHeredoc(text: string, at: Instruction): string {
    return expanded(text, this.lookup, at, this.dockerfile, expandText);
  }

  complain(at: Instruction, message: string, hint?: string): Error {
    return invalid(this.dockerfile.name, at.line, `${at.keyword}: ${message}`, hint);
  }
}

/** A word with its variables; what can't be read is `dockerfile_invalid`. */
export function expanded(
  word: string,
  lookup: (name: string) => string | undefined,
  at: Instruction,
  { escapeChar, name }: Dockerfile,
  expand = expandWord,
): string {
  try {
    return expand(word, lookup, escapeChar);
  } catch (thrown) {
    if (thrown instanceof ExpansionError) throw invalid(name, at.line, `${at.keyword}: ${thrown.message}`);
    throw thrown;
  }
}
