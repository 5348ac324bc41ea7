import { nearest } from '@vivarium/protocol/nearest.ts';
import type { Flag, Instruction } from '../dockerfile/instruction.ts';
import type { StageState } from './stage-state.ts';

/** The flags of an instruction, checked: which there are, which may come more than once, variables expanded. */
export class Flags {
  readonly #flags: readonly Flag[];

  constructor(state: StageState, at: Instruction, known: readonly string[], repeatable: readonly string[] = []) {
    for (const [index, { name }] of at.flags.entries()) {
      const like = nearest(name, known);
      if (!known.includes(name))
        throw state.complain(
          at,
          `there is no --${name}`,
          like ? `Did you mean --${like}?` : `There is ${known.map((each) => `--${each}`).join(', ')}.`,
        );
      if (!repeatable.includes(name) && at.flags.findIndex((flag) => flag.name === name) < index)
        throw state.complain(at, `--${name} is given twice`);
    }
    this.#flags = at.flags.map(({ name, value }) => ({ name, value: value === null ? null : state.expand(value, at) }));
  }

  get(name: string): string | undefined {
    return this.#flags.find((flag) => flag.name === name)?.value ?? undefined;
  }

  all(name: string): string[] {
    return this.#flags.flatMap((flag) => (flag.name === name && flag.value !== null ? [flag.value] : []));
  }

  /** `--link`, `--link=true`. */
  on(name: string): boolean {
    const flag = this.#flags.find((each) => each.name === name);
    return flag !== undefined && flag.value !== 'false';
  }
}
