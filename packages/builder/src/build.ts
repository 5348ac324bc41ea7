import { createHash } from 'node:crypto';
import { VivError } from '@vivarium/protocol';
import type { IgnoreRules } from '@vivarium/protocol/ignore-rules.ts';
import { invalid } from './dockerfile/complaint.ts';
import type { Dockerfile, Instruction } from './dockerfile/instruction.ts';
import type { FileTree } from './files/tree.ts';
import { BuildArgs } from './stages/arguments.ts';
import { type Planned, planCopy } from './stages/copying.ts';
import { METADATA } from './stages/metadata.ts';
import type { Origins } from './stages/origins.ts';
import { planRun } from './stages/running.ts';
import { expanded, StageState } from './stages/stage-state.ts';
import { neededStages, type Stage, type Stages, sourceStage, stagesOf, targetStage } from './stages/stages.ts';
import type { Base, CopyAction, RunAction, Workshop } from './workshop.ts';

/** Changes with what a step's result means, so that old cache entries are not taken for new ones. */
const KEY_VERSION = 1;

export type BuildPlan = {
  dockerfile: Dockerfile;
  /** All files of the context, also ignored ones. */
  context: FileTree;
  ignore: IgnoreRules;
  target?: string | undefined;
  buildArgs: Record<string, string>;
  labels: Record<string, string>;
  network: 'none' | 'node';
};

/** What a build tells while it goes on. */
export type BuildReport = {
  step(step: {
    index: number;
    total: number;
    line: number;
    instruction: string;
    cached: boolean | null;
    ms: number | null;
  }): void;
  warning(line: number | null, message: string): void;
};

/**
 * Builds the target stage and what it needs; the image is what the last step made, with the config that comes with it. Throws
 * `dockerfile_invalid`, `image_not_found`, `invalid_argument` (target), `build_failed`; each names file and line where there is one.
 */
export async function build(
  plan: BuildPlan,
  workshop: Workshop,
  report: BuildReport,
  now: () => number,
): Promise<Base> {
  return new Build(plan, workshop, report, now).run();
}

class Build {
  readonly #plan: BuildPlan;
  readonly #workshop: Workshop;
  readonly #report: BuildReport;
  readonly #now: () => number;
  readonly #args: BuildArgs;
  readonly #stages: Stages;
  readonly #target: Stage;
  readonly #context: FileTree;
  readonly #built = new Map<number, Base>();
  readonly #images = new Map<string, Promise<Base>>();
  #index = 0;
  #total = 0;

  constructor(plan: BuildPlan, workshop: Workshop, report: BuildReport, now: () => number) {
    this.#plan = plan;
    this.#workshop = workshop;
    this.#report = report;
    this.#now = now;
    this.#args = new BuildArgs(plan.buildArgs);
    this.#stages = stagesOf(plan.dockerfile);
    this.#target = targetStage(this.#stages.stages, plan.target);
    this.#context = plan.ignore.isEmpty ? plan.context : plan.context.filtered((path) => !this.#ignores(path));
  }

  async run(): Promise<Base> {
    const { dockerfile, labels } = this.#plan;
    this.#args.declareGlobals(this.#stages.globals, dockerfile);
    const needed = neededStages(this.#stages.stages, this.#target, (stage) => this.#imageOf(stage), dockerfile.name);
    this.#total = needed.reduce((sum, { instructions }) => sum + 1 + instructions.length, 0);
    for (const stage of needed) this.#built.set(stage.index, await this.#stage(stage));
    for (const name of this.#args.unused()) this.#report.warning(null, `no ARG takes the build argument ${name}`);
    const { image, layers, config } = this.#built.get(this.#target.index)!;
    return { image, layers, config: { ...config, labels: { ...config.labels, ...labels } } };
  }

  async #stage(stage: Stage): Promise<Base> {
    const { dockerfile } = this.#plan;
    const state = await this.#step(stage.from, async () => ({
      result: new StageState(dockerfile, await this.#from(stage)),
      cached: true,
    }));
    for (const instruction of stage.instructions)
      await this.#step(instruction, async () => ({
        result: undefined,
        cached: await this.#instruction(stage, state, instruction),
      }));
    if (state.directories.length > 0)
      await this.#located(state.directoriesFrom!, () => this.#perform(state, state.directoriesFrom!, null));
    return { ...state.base, config: state.config };
  }

  async #step<T>(at: Instruction, work: () => Promise<{ result: T; cached: boolean }>): Promise<T> {
    const step = { index: ++this.#index, total: this.#total, line: at.line, instruction: at.text };
    const began = this.#now();
    this.#report.step({ ...step, cached: null, ms: null });
    const { result, cached } = await this.#located(at, work);
    this.#report.step({ ...step, cached, ms: Math.round(this.#now() - began) });
    return result;
  }

  /** Errors about a step say where it is. */
  async #located<T>(at: Instruction, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      const error = VivError.from(thrown);
      if (error.details.line !== undefined || !(thrown instanceof VivError)) throw thrown;
      const file = this.#plan.dockerfile.name;
      const { code, message, hint, details, cause, fault } = error;
      throw new VivError(code, `${file}:${at.line}: ${shortened(at.text)}: ${message}`, {
        hint,
        cause,
        fault: fault === 'infra' ? fault : 'task',
        details: { ...details, file, line: at.line, instruction: at.text },
      });
    }
  }

  /** The image a stage begins with. */
  async #from(stage: Stage): Promise<Base> {
    const { from } = stage;
    const platform = from.flags.find(({ name }) => name === 'platform')?.value;
    const unknown = from.flags.find(({ name }) => name !== 'platform');
    if (unknown) throw invalid(this.#plan.dockerfile.name, from.line, `FROM: there is no --${unknown.name}`);
    if (platform) {
      const wanted = expanded(platform, this.#args.lookupGlobal, from, this.#plan.dockerfile);
      if (!/^(linux\/)?amd64(\/.*)?$/.test(wanted))
        throw invalid(
          this.#plan.dockerfile.name,
          from.line,
          `FROM --platform=${wanted}: this node has linux/amd64 only`,
        );
    }
    const image = this.#imageOf(stage);
    if (image === '') throw invalid(this.#plan.dockerfile.name, from.line, `FROM ${stage.image}: that is empty`);
    const before = this.#stages.stages.slice(0, stage.index).find(({ name }) => name === image.toLowerCase());
    if (before) return this.#built.get(before.index)!;
    return image === 'scratch' ? this.#workshop.scratch() : this.#image(image);
  }

  #imageOf(stage: Stage): string {
    return expanded(stage.image, this.#args.lookupGlobal, stage.from, this.#plan.dockerfile);
  }

  /** Asked for once per build: a tag must not change meaning between two stages. */
  #image(reference: string): Promise<Base> {
    const known = this.#images.get(reference);
    if (known) return known;
    const image = this.#workshop.base(reference);
    this.#images.set(reference, image);
    return image;
  }

  /** Returns whether there was nothing to do. */
  async #instruction(stage: Stage, state: StageState, at: Instruction): Promise<boolean> {
    const metadata = METADATA[at.keyword];
    if (metadata) {
      metadata(state, at, (message) => this.#report.warning(at.line, message));
      return true;
    }
    if (at.keyword === 'ARG') {
      this.#args.declare(at, state);
      return true;
    }
    const origins = this.#origins(stage);
    if (at.keyword === 'RUN')
      return this.#perform(
        state,
        at,
        await planRun(state, at, origins, { args: this.#args, network: this.#plan.network }),
      );
    return this.#perform(state, at, await planCopy(state, at, origins));
  }

  async #perform(
    state: StageState,
    at: Instruction,
    planned: Planned<RunAction | CopyAction> | null,
  ): Promise<boolean> {
    const { directories, base } = state;
    const dependencies = [KEY_VERSION, base.layers, directories, planned?.depends ?? null];
    const key = createHash('sha256').update(JSON.stringify(dependencies)).digest('hex');
    const step = {
      key,
      parent: base,
      directories,
      action: planned?.action ?? null,
      text: at.text,
      config: state.config,
      fresh: at.program?.fresh ?? false,
    };
    const { base: made, cached } = await this.#workshop.perform(step).catch((thrown) => {
      // A directory that can't be made is the fault of who asked for it, not of the step that needs it first.
      const isDirectory = VivError.from(thrown).details.directory !== undefined;
      return this.#located(isDirectory ? state.directoriesFrom! : at, () => Promise.reject(thrown));
    });
    state.base = made;
    state.directories = [];
    return cached;
  }

  #origins(stage: Stage): Origins {
    return {
      context: this.#context,
      ignored: (path) => this.#plan.context.get(path) !== undefined && this.#ignores(path),
      image: async (from, at, sources) => {
        const before = sourceStage(this.#stages.stages, from, stage, at, this.#plan.dockerfile.name);
        const base = before ? this.#built.get(before.index)! : await this.#image(from);
        return { base, tree: () => this.#workshop.files(base, sources) };
      },
    };
  }

  #ignores(path: string): boolean {
    return this.#plan.ignore.ignores(Buffer.from(path, 'latin1').toString('utf8'));
  }
}

const SHOWN_MAX = 200;

function shortened(text: string): string {
  const line = text.split('\n')[0]!;
  return line.length > SHOWN_MAX ? `${line.slice(0, SHOWN_MAX)}…` : line;
}
