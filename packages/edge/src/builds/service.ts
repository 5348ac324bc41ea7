import { mkdirSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type BuildPlan,
  type BuildStep,
  build,
  DOCKERFILE_BYTES_MAX,
  type FileTree,
  parseDockerfile,
  stepsDockerfile,
} from '@vivarium/builder';
import { type BuildProgress, type BuildRequest, type Image, type PruneReport, VivError } from '@vivarium/protocol';
import { type IgnoreRules, parseIgnore } from '@vivarium/protocol/ignore-rules.ts';
import type { BuildService, Owner } from '../edge.ts';
import { Admission } from '../lifecycle/admission.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { Gate } from '../lifecycle/gate.ts';
import { receiveContext, receiveContexts } from './context-store.ts';
import { EdgeWorkshop } from './edge-workshop.ts';
import { readImageMap } from './image-map.ts';
import { ProgressPipe } from './progress-pipe.ts';
import { StepCache } from './step-cache.ts';

const AT_ONCE = 4;
const QUEUE = 256;
const IGNORE_BYTES_MAX = 1024 * 1024;

/** Images from Dockerfiles. */
export class Builds implements BuildService {
  readonly #context: EdgeContext;
  readonly #cache: StepCache;
  readonly #admission: Admission;
  readonly #gate = new Gate('builds', AT_ONCE, QUEUE);

  constructor(context: EdgeContext) {
    this.#context = context;
    this.#cache = new StepCache(context.images);
    this.#admission = new Admission(context);
  }

  build(
    request: BuildRequest,
    body: AsyncIterable<Uint8Array>,
    owner: Owner,
    signal: AbortSignal,
  ): AsyncIterable<BuildProgress> {
    return this.#start(signal, request, owner, {
      receive: (directory, abort) => receiveContext(body, directory, abort),
      plan: (tree, warn) => planOf(request, tree, warn),
    });
  }

  buildSteps(
    request: BuildRequest,
    steps: readonly BuildStep[],
    files: ReadonlyMap<string, () => AsyncIterable<Uint8Array>>,
    owner: Owner,
    signal: AbortSignal,
  ): AsyncIterable<BuildProgress> {
    return this.#start(signal, request, owner, {
      receive: (directory, abort) => receiveContexts(files, directory, abort),
      plan: async (tree) => ({
        ...plain(request),
        dockerfile: stepsDockerfile(steps, STEPS),
        context: tree,
        ignore: parseIgnore(''),
      }),
    });
  }

  prune(): Promise<PruneReport> {
    return this.#cache.prune();
  }

  #start(signal: AbortSignal, request: BuildRequest, owner: Owner, origin: Origin): AsyncIterable<BuildProgress> {
    if (this.#context.draining) throw new VivError('shutting_down', 'the node is stopping and builds no images');
    this.#gate.check();
    const pipe = new ProgressPipe<BuildProgress>();
    return pipe.drain(signal, (abort) => this.#run(request, origin, owner, pipe, abort));
  }

  async #run(
    request: BuildRequest,
    origin: Origin,
    owner: Owner,
    pipe: ProgressPipe<BuildProgress>,
    signal: AbortSignal,
  ): Promise<BuildProgress> {
    const root = join(this.#context.stateDir, 'tmp');
    mkdirSync(root, { recursive: true, mode: 0o700 });
    const directory = mkdtempSync(join(root, 'build-'));
    try {
      const tree = await origin.receive(directory, signal);
      const warn = (message: string) => pipe.put({ type: 'warning', line: null, message });
      const plan = await origin.plan(tree, warn);
      const image = await this.#gate.run(() => this.#build(request, plan, owner, pipe, signal));
      return { type: 'done', image };
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  }

  async #build(
    request: BuildRequest,
    plan: BuildPlan,
    owner: Owner,
    pipe: ProgressPipe<BuildProgress>,
    signal: AbortSignal,
  ): Promise<Image> {
    const { clock, newId, stateDir } = this.#context;
    const outOfTime = new AbortController();
    const cancel = clock.after(request.timeoutMs, () => outOfTime.abort(tooLate(request)));
    const workshop = new EdgeWorkshop({
      context: this.#context,
      cache: this.#cache,
      admission: this.#admission,
      request,
      nodeMap: readImageMap(stateDir),
      build: newId(),
      owner,
      deadlineMs: clock.monotonicMs() + request.timeoutMs,
      onOutput: (stream, text) => pipe.push({ type: 'output', stream, text }),
      signal: AbortSignal.any([signal, outOfTime.signal]),
    });
    const report = {
      step: (step: Omit<Extract<BuildProgress, { type: 'step' }>, 'type'>) => pipe.put({ type: 'step', ...step }),
      warning: (line: number | null, message: string) => pipe.put({ type: 'warning', line, message }),
    };
    try {
      const { image: parent, config } = await build(plan, workshop, report, () => clock.monotonicMs());
      const { name } = request;
      return await this.#context.images.derive({ name, parent, config, kind: 'build', key: owner.keyId });
    } catch (thrown) {
      signal.throwIfAborted();
      throw thrown;
    } finally {
      cancel();
      await workshop.close();
      await this.#cache.bound();
    }
  }
}

/** What errors call the steps of a program. */
const STEPS = 'step';

/** Where a build's files and instructions come from. */
type Origin = {
  receive(directory: string, signal: AbortSignal): Promise<FileTree>;
  plan(tree: FileTree, warn: (message: string) => void): Promise<BuildPlan>;
};

function plain({ target, buildArgs, labels, network }: BuildRequest) {
  return { target, buildArgs, labels, network };
}

async function planOf(request: BuildRequest, context: FileTree, warn: (message: string) => void): Promise<BuildPlan> {
  const { dockerfile: name } = request;
  const source = await textOf(context, name, DOCKERFILE_BYTES_MAX);
  if (source === undefined)
    throw new VivError('dockerfile_invalid', `there is no ${name} in the build context`, {
      details: { file: name },
      hint: 'Name it with -f FILE; the path is relative to the build context.',
    });
  const dockerfile = parseDockerfile(source, name);
  return {
    dockerfile,
    context: withoutOurs(context),
    ignore: await ignoreOf(context, name, warn),
    ...plain(request),
  };
}

/** `<Dockerfile>.dockerignore` before `.dockerignore`. */
async function ignoreOf(context: FileTree, dockerfile: string, warn: (message: string) => void): Promise<IgnoreRules> {
  const own = await textOf(context, `${dockerfile}.dockerignore`, IGNORE_BYTES_MAX);
  const text = own ?? (await textOf(context, '.dockerignore', IGNORE_BYTES_MAX)) ?? '';
  return parseIgnore(text, (line) => warn(`.dockerignore: "${line}" is no valid pattern`));
}

/** A Dockerfile from outside the context travels in this directory; it is nothing that COPY could see. */
const OURS = '.vivarium-build';

function withoutOurs(context: FileTree): FileTree {
  return context.get(OURS) ? context.filtered((path) => path !== OURS && !path.startsWith(`${OURS}/`)) : context;
}

async function textOf(context: FileTree, path: string, max: number): Promise<string | undefined> {
  const real = context.resolve(Buffer.from(path, 'utf8').toString('latin1'), true);
  const node = real === undefined ? undefined : context.get(real);
  if (node?.type !== 'file') return undefined;
  if (node.size > max)
    throw new VivError('dockerfile_invalid', `${path} is larger than ${max} bytes`, { details: { file: path } });
  const parts: Uint8Array[] = [];
  for await (const chunk of node.read()) parts.push(chunk);
  return Buffer.concat(parts).toString('utf8');
}

function tooLate({ timeoutMs }: BuildRequest): VivError {
  return new VivError('build_failed', `the build did not end within its time of ${Math.round(timeoutMs / 1000)} s`, {
    details: { outcome: { type: 'timeout' } },
  });
}
