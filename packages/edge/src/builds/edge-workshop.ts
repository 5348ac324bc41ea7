import type { Base, FileTree, Step, Workshop } from '@vivarium/builder';
import { type BuildRequest, type Image, type ImageMap, ImageName, parseOciRef, VivError } from '@vivarium/protocol';
import type { Owner } from '../edge.ts';
import type { Admission } from '../lifecycle/admission.ts';
import type { Box } from '../lifecycle/box.ts';
import type { EdgeContext } from '../lifecycle/context.ts';
import { commitBox, withBuilderBox } from './builder-box.ts';
import { copyInto } from './copy-step.ts';
import { readFiles } from './image-files.ts';
import { mapped } from './image-map.ts';
import { idsOf } from './owner.ts';
import { Placing } from './placing.ts';
import { type RunOptions, runIn } from './run-step.ts';
import { scratchImage } from './scratch-image.ts';
import { baseOf, type StepCache } from './step-cache.ts';

const CREATED_BY_MAX = 300;

export type WorkshopOptions = {
  context: EdgeContext;
  cache: StepCache;
  admission: Admission;
  request: BuildRequest;
  nodeMap: ImageMap;
  /** Id of the build, in the label of its sandboxes. */
  build: string;
  owner: Owner;
  /** Of the monotonic clock. */
  deadlineMs: number;
  onOutput: RunOptions['onOutput'];
  signal: AbortSignal;
};

/** Carries out the steps of one build on this node: a sandbox each, of the image before, packed into the next. */
export class EdgeWorkshop implements Workshop {
  readonly #options: WorkshopOptions;
  /** Images of this build can't be removed meanwhile. */
  readonly #holds: (() => void)[] = [];
  /** Sandboxes that files are copied from, by image; they live until the build ends. */
  readonly #sources = new Map<string, Promise<Box>>();
  readonly #closing: (() => Promise<unknown>)[] = [];

  constructor(options: WorkshopOptions) {
    this.#options = options;
  }

  async base(reference: string): Promise<Base> {
    const { context, request, nodeMap } = this.#options;
    const name = mapped(reference, request.map, nodeMap) ?? reference;
    if (ImageName.safeParse(name).success && context.images.has(name)) return baseOf(await this.#hold(name));
    if (name !== reference || !parseOciRef(reference)) throw unknownImage(reference, name, context);
    return baseOf(await this.#hold(await this.#pull(reference)));
  }

  async scratch(): Promise<Base> {
    return baseOf(await this.#hold(await scratchImage(this.#options.context.images, this.#options.signal)));
  }

  async perform(step: Step): Promise<{ base: Base; cached: boolean }> {
    const { cache, request, signal } = this.#options;
    for (let fresh = request.noCache || step.fresh, attempt = 1; ; fresh = true, attempt++) {
      const made = await cache.get(step.key, fresh, signal, (name) => this.#make(step, name));
      try {
        await this.#hold(made.base.image);
        return made;
      } catch (thrown) {
        // Pruned a moment ago, or its layer is damaged: made once more.
        const { code } = VivError.from(thrown);
        if (attempt > 1 || (code !== 'image_not_found' && code !== 'image_corrupt')) throw thrown;
      }
    }
  }

  async files(base: Base, sources: readonly string[]): Promise<FileTree> {
    const box = await this.#source(base.image);
    return readFiles(box.requireCell(), sources, this.#options.signal);
  }

  /** Ends the sandboxes it still has and lets go of its images. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#closing.map((close) => close()));
    for (const release of this.#holds) release();
  }

  async #make(step: Step, name: string): Promise<Image> {
    const { action, parent } = step;
    const network = action?.type === 'run' ? action.network : 'none';
    return this.#inBox(parent.image, network, async (box) => {
      await this.#work(box, step).catch((thrown) => this.#explain(box, thrown));
      const mounts = action?.type === 'run' ? action.mounts.map(({ target }) => literal(target)) : [];
      const exclude = [...mounts, ...RESOLV_CONF[network]];
      const createdBy = step.text.slice(0, CREATED_BY_MAX);
      return commitBox(box, { name, createdBy, exclude, config: step.config, signal: this.#options.signal });
    });
  }

  async #work(box: Box, { directories, action }: Step): Promise<void> {
    const { signal } = this.#options;
    const cell = box.requireCell();
    const placing = new Placing(cell, signal);
    for (const { path, user } of directories) {
      const owner = await idsOf(cell, user ?? '0:0');
      await placing.makeDirectories(Buffer.from(path, 'utf8').toString('latin1'), owner).catch((thrown) => {
        const { code, message, details } = VivError.from(thrown);
        throw new VivError(code, message, { details: { ...details, directory: path }, cause: thrown });
      });
    }
    if (action?.type === 'copy') await copyInto(cell, action, signal);
    if (action?.type === 'run') await runIn(box, action, this.#runOptions());
    signal.throwIfAborted();
  }

  /** Brought from its registry, unless a former build or sandbox did. */
  async #pull(reference: string): Promise<string> {
    const { context, signal } = this.#options;
    try {
      return (await context.images.pull(reference, signal)).name;
    } catch (thrown) {
      signal.throwIfAborted();
      throw unknownImage(reference, reference, context, VivError.from(thrown));
    }
  }

  #runOptions(): RunOptions {
    const { context, deadlineMs, request, onOutput, signal } = this.#options;
    return { onOutput, signal, timeoutMs: deadlineMs - context.clock.monotonicMs(), buildMs: request.timeoutMs };
  }

  async #inBox<T>(image: string, network: 'none' | 'node', work: (box: Box) => Promise<T>): Promise<T> {
    const { context, request, owner, build, signal } = this.#options;
    const { limits, timeoutMs } = request;
    // Its steps are bounded by the builds that run at once, not by the quota of who asked.
    this.#options.admission.check({ keyId: owner.keyId, maxSandboxes: null });
    return withBuilderBox(context, { image, build, network, limits, timeoutMs, owner }, signal, work);
  }

  /** A sandbox that lives until the build ends. */
  #source(image: string): Promise<Box> {
    const known = this.#sources.get(image);
    if (known) return known;
    const opened = Promise.withResolvers<Box>();
    const closed = Promise.withResolvers<void>();
    const life = this.#inBox(image, 'none', (box) => {
      opened.resolve(box);
      return closed.promise;
    });
    life.catch(opened.reject);
    opened.promise.catch(() => {});
    this.#closing.push(() => {
      closed.resolve();
      return life;
    });
    this.#sources.set(image, opened.promise);
    return opened.promise;
  }

  async #hold(name: string): Promise<Image> {
    const { image, release } = await this.#options.context.images.acquire(name);
    this.#holds.push(release);
    return image;
  }

  /** What the file API says is the infrastructure's; a disk that a COPY fills is the build's. */
  async #explain(box: Box, thrown: unknown): Promise<never> {
    const error = VivError.from(thrown);
    if (error.code !== 'build_failed') this.#options.signal.throwIfAborted();
    if (error.code === 'disk_full')
      throw new VivError('build_failed', `its disk was full (diskMiB ${box.row.limits.diskMiB})`, { cause: error });
    if (TASK_CODES.has(error.code))
      throw new VivError('build_failed', error.message, { details: error.details, cause: error });
    throw error;
  }
}

/** What a step can meet in the image. */
const TASK_CODES: ReadonlySet<string> = new Set([
  'path_not_found',
  'path_exists',
  'path_escapes',
  'is_directory',
  'not_directory',
  'not_regular_file',
  'path_denied',
  'invalid_archive',
  'file_error',
  'user_unknown',
  'spawn_failed',
]);

/** A mount point that was made for it is nothing of the step's. */
const RESOLV_CONF = { none: [], node: ['/etc/resolv.conf'] };

/** A pattern that matches this path only. */
function literal(path: string): string {
  return path.replace(/[*?[\]\\]/g, '\\$&');
}

function unknownImage(reference: string, name: string, context: EdgeContext, cause?: VivError): VivError {
  // Names with a digest in them are given by programs (tasks, trials): nobody means to write those.
  const known = context.images
    .list()
    .map((image) => image.name)
    .filter((known) => !/[0-9a-f]{16}/.test(known));
  const what =
    name === reference ? `there is no image ${reference}` : `${reference} is mapped to ${name}, which is not there`;
  return new VivError('image_not_found', cause ? `${what}, and it could not be brought: ${cause.message}` : what, {
    fault: 'task',
    cause,
    details: { reference, image: name, known: known.slice(0, 100) },
    hint: `Map it to an image of this node (\`--map ${reference}=IMAGE\`, or image-map.json in the state directory), or import it: \`viv image import\`. There is ${known.slice(0, 10).join(', ') || 'no image yet'}.`,
  });
}
