import { VivError } from '@vivarium/protocol';
import { nearest } from '@vivarium/protocol/nearest.ts';
import { invalid } from '../dockerfile/complaint.ts';
import type { Dockerfile, Instruction } from '../dockerfile/instruction.ts';
import { shellWords } from '../dockerfile/words.ts';
import { mountFields } from './mounts.ts';

/** A FROM and what follows it. */
export type Stage = {
  index: number;
  /** Lower case, or null. */
  name: string | null;
  from: Instruction;
  /** As written, variables not expanded. */
  image: string;
  instructions: Instruction[];
};

export type Stages = { globals: Instruction[]; stages: Stage[] };

/** Splits a Dockerfile into stages. Throws `dockerfile_invalid`. */
export function stagesOf({ instructions, escapeChar, name }: Dockerfile): Stages {
  const globals: Instruction[] = [];
  const stages: Stage[] = [];
  for (const instruction of instructions) {
    if (instruction.keyword === 'FROM') stages.push(stageOf(instruction, stages, escapeChar, name));
    else if (stages.length > 0) stages.at(-1)!.instructions.push(instruction);
    else if (instruction.keyword === 'ARG') globals.push(instruction);
    else
      throw invalid(name, instruction.line, `${instruction.keyword} before the first FROM`, 'Begin with FROM IMAGE.');
  }
  if (stages.length === 0) throw invalid(name, 1, 'it has no FROM', 'Begin with FROM IMAGE.');
  return { globals, stages };
}

function stageOf(from: Instruction, before: readonly Stage[], escapeChar: string, file: string): Stage {
  const words = shellWords(from.rest, escapeChar);
  const [image, as, name, more] = words;
  if (
    image === undefined ||
    more !== undefined ||
    (as !== undefined && (as.toUpperCase() !== 'AS' || name === undefined))
  )
    throw invalid(file, from.line, `FROM ${from.rest}: it takes an image and, maybe, AS NAME`);
  const lower = name?.toLowerCase() ?? null;
  if (lower !== null && !/^[a-z][a-z0-9_.-]*$/.test(lower))
    throw invalid(
      file,
      from.line,
      `"${name}" is no name for a stage`,
      'Letters, digits, ".", "_" and "-", beginning with a letter.',
    );
  if (lower !== null && before.some((stage) => stage.name === lower))
    throw invalid(file, from.line, `there is a stage "${name}" already`);
  return { index: before.length, name: lower, from, image, instructions: [] };
}

/** The stage that --target names (by name or number), else the last. Throws `invalid_argument`. */
export function targetStage(stages: readonly Stage[], target: string | undefined): Stage {
  if (target === undefined) return stages.at(-1)!;
  const stage = findStage(stages, target);
  if (stage) return stage;
  const names = stages.flatMap(({ name }) => name ?? []);
  const like = nearest(target.toLowerCase(), names);
  throw new VivError(
    'invalid_argument',
    `there is no stage "${target}"; there is ${names.join(', ') || 'none with a name'}`,
    {
      details: { field: 'target', stages: names },
      hint: like ? `Did you mean ${like}?` : 'Name a stage of the Dockerfile (FROM … AS NAME), or leave --target out.',
    },
  );
}

export function findStage(stages: readonly Stage[], name: string): Stage | undefined {
  return (
    stages.find((stage) => stage.name === name.toLowerCase()) ?? (/^\d+$/.test(name) ? stages[Number(name)] : undefined)
  );
}

/**
 * The stage that a --from names, seen from a stage: only earlier ones. Undefined: it names an image. Throws `dockerfile_invalid` for one
 * that is not earlier, for then each would need the other.
 */
export function sourceStage(stages: readonly Stage[], from: string, at: Stage, instruction: Instruction, file: string) {
  const stage = findStage(stages, from);
  if (!stage) return undefined;
  if (stage.index < at.index) return stage;
  const which = stage.index === at.index ? 'this stage itself' : `a later stage`;
  throw invalid(
    file,
    instruction.line,
    `--from=${from} names ${which}: it would be circular`,
    'Only earlier stages can be copied from.',
  );
}

/** The stages that the target needs, itself last. `imageOf` expands the variables of a FROM. */
export function neededStages(
  all: readonly Stage[],
  target: Stage,
  imageOf: (stage: Stage) => string,
  file: string,
): Stage[] {
  const needed = new Set<number>();
  const visit = (stage: Stage): void => {
    if (needed.has(stage.index)) return;
    needed.add(stage.index);
    const base = all.slice(0, stage.index).find(({ name }) => name === imageOf(stage).toLowerCase());
    if (base) visit(base);
    for (const instruction of stage.instructions) {
      for (const from of fromsOf(instruction)) {
        const source = sourceStage(all, from, stage, instruction, file);
        if (source) visit(source);
      }
    }
  };
  visit(target);
  return all.filter(({ index }) => needed.has(index));
}

/** What its flags take files from. */
function fromsOf({ keyword, flags }: Instruction): string[] {
  if (keyword === 'COPY') return flags.flatMap(({ name, value }) => (name === 'from' && value ? [value] : []));
  if (keyword !== 'RUN') return [];
  return flags.flatMap(({ name, value }) => (name === 'mount' && value ? (mountFields(value).get('from') ?? []) : []));
}
