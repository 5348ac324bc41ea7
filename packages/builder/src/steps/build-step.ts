import type { Dockerfile, Flag, Instruction } from '../dockerfile/instruction.ts';

/** What a step of a program does. Strings are taken as they are; only where it says so variables are expanded. */
export type StepAction =
  | { type: 'from'; image: string }
  | { type: 'run'; argv: readonly string[] }
  /** `source` is a path in the context; a link is copied as the link it is. `owner`: user[:group]. `mode`: octal. */
  | { type: 'copy'; source: string; target: string; owner: string | null; mode: string | null }
  /** Values may have variables, `$X` and `${X}`, of the environment as it is before this step. */
  | { type: 'env'; values: readonly (readonly [name: string, value: string])[] }
  /** The path may have variables. */
  | { type: 'workdir'; path: string }
  | { type: 'user'; user: string };

export type BuildStep = {
  action: StepAction;
  /** What errors and progress call it; steps may share one. */
  number: number;
  /** One line for people. */
  text: string;
  /** Run it again even if its result is in the cache. */
  fresh: boolean;
};

const KEYWORDS = { from: 'FROM', run: 'RUN', copy: 'COPY', env: 'ENV', workdir: 'WORKDIR', user: 'USER' } as const;

/** The steps of a program as the instructions that a Dockerfile would have; their lines are the steps' numbers. `name` is what errors call it. */
export function stepsDockerfile(steps: readonly BuildStep[], name: string): Dockerfile {
  return { instructions: steps.map(instructionOf), escapeChar: '\\', name };
}

function instructionOf({ action, number, text, fresh }: BuildStep): Instruction {
  const { rest, flags = [] } = written(action);
  return {
    keyword: KEYWORDS[action.type],
    line: number,
    endLine: number,
    flags,
    rest,
    heredocs: [],
    text,
    program: { fresh, keepsLinks: action.type === 'copy' },
  };
}

function written(action: StepAction): { rest: string; flags?: Flag[] } {
  switch (action.type) {
    case 'from':
      return { rest: literal(action.image) };
    case 'run':
      return { rest: JSON.stringify(action.argv) };
    case 'copy': {
      const { source, target, owner, mode } = action;
      const flags: Flag[] = [];
      if (owner !== null) flags.push({ name: 'chown', value: literal(owner) });
      if (mode !== null) flags.push({ name: 'chmod', value: literal(mode) });
      return { rest: JSON.stringify([literal(source), literal(target)]), flags };
    }
    case 'env':
      return { rest: action.values.map(([name, value]) => `${name}=${expandable(value)}`).join(' ') };
    case 'workdir':
      return { rest: expandable(action.path) };
    case 'user':
      return { rest: literal(action.user) };
  }
}

/** A word that stands for the text itself. */
function literal(text: string): string {
  return text.replace(/[\\'"$\s]/g, '\\$&');
}

/** The same, but for its variables. */
function expandable(text: string): string {
  return text === '' ? '""' : text.replace(/[\\'"\s]/g, '\\$&');
}
