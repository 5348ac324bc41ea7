import { invalid } from '../dockerfile/complaint.ts';
import type { Dockerfile, Instruction } from '../dockerfile/instruction.ts';
import { shellWords } from '../dockerfile/words.ts';
import { expanded, type StageState } from './stage-state.ts';

/** Usable without a declaration, and of no influence on the cache, as in Docker. */
export const PROXY_ARGS = ['HTTP_PROXY', 'HTTPS_PROXY', 'FTP_PROXY', 'NO_PROXY', 'ALL_PROXY'].flatMap((name) => [
  name,
  name.toLowerCase(),
]);

/** The one platform there is. */
const PLATFORM: Record<string, string> = Object.fromEntries(
  ['BUILD', 'TARGET'].flatMap((side) => [
    [`${side}PLATFORM`, 'linux/amd64'],
    [`${side}OS`, 'linux'],
    [`${side}ARCH`, 'amd64'],
    [`${side}VARIANT`, ''],
  ]),
);

/** The arguments of one build: those that were given, those before the first FROM, and which were of use. */
export class BuildArgs {
  readonly given: Readonly<Record<string, string>>;
  readonly #globals = new Map<string, string>(Object.entries(PLATFORM));
  readonly #used = new Set<string>();

  constructor(given: Readonly<Record<string, string>>) {
    this.given = given;
  }

  /** For the variables of FROM. */
  readonly lookupGlobal = (name: string): string | undefined => this.#globals.get(name);

  /** ARGs before the first FROM. */
  declareGlobals(instructions: readonly Instruction[], dockerfile: Dockerfile): void {
    for (const instruction of instructions)
      for (const { name, preset } of declarations(instruction, dockerfile)) {
        const value =
          this.#take(name) ??
          (preset === null ? undefined : expanded(preset, this.lookupGlobal, instruction, dockerfile));
        if (value !== undefined) this.#globals.set(name, value);
      }
  }

  /** An ARG of a stage: given, else its own default, else what it was before the first FROM. */
  declare(instruction: Instruction, state: StageState): void {
    for (const { name, preset } of declarations(instruction, state.dockerfile)) {
      const value = this.#take(name) ?? (preset === null ? this.#globals.get(name) : state.expand(preset, instruction));
      if (value === undefined) state.args.delete(name);
      else state.args.set(name, value);
    }
  }

  /** Proxies among the given ones, for RUN. */
  proxies(): Record<string, string> {
    const entries = PROXY_ARGS.flatMap((name) => {
      const value = this.#take(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    return Object.fromEntries(entries);
  }

  /** Given ones that nothing declared. */
  unused(): string[] {
    return Object.keys(this.given).filter((name) => !this.#used.has(name) && !PROXY_ARGS.includes(name));
  }

  #take(name: string): string | undefined {
    if (!Object.hasOwn(this.given, name)) return undefined;
    this.#used.add(name);
    return this.given[name];
  }
}

function declarations(
  instruction: Instruction,
  { escapeChar, name: file }: Dockerfile,
): { name: string; preset: string | null }[] {
  return shellWords(instruction.rest, escapeChar).map((word) => {
    const cut = word.indexOf('=');
    const name = cut < 0 ? word : word.slice(0, cut);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw invalid(file, instruction.line, `ARG ${word}: "${name}" is no name`);
    return { name, preset: cut < 0 ? null : word.slice(cut + 1) };
  });
}
