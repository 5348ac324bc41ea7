import { type Image, type Sandbox, type Vivarium, VivError } from '@vivarium/sdk';
import { INSTRUCTION_PATH } from '../agent/agent.ts';
import type { JobConfig } from '../job/config.ts';
import type { JobLease } from '../job/lease.ts';
import type { Task, TaskEnvironment } from '../task/index.ts';
import { checksumOf, readTree } from '../task/tree.ts';
import { baseProgress, buildImage } from './build-image.ts';
import { FileTree } from './file-tree.ts';
import { shortDigest, slug } from './image-name.ts';
import { workdirOf } from './settings.ts';
import { stepsOf, type TrialStep } from './steps.ts';

/** The images of one task: everything that is the same for all of its trials. */
export type PreparedTask = {
  /** What the agent's sandbox is made from. */
  image: Image;
  /** Per step: the tests as an image to lay over; null where the verifier's own Dockerfile has copied them. */
  graders: (string | null)[];
  /** Per step: the image of a separate verifier. */
  separate: (Image | null)[];
};

/** Changes when what is put into prepared images changes. */
const FORMAT = 1;

/**
 * Makes the images of tasks, each once however many trials wait for it, a few at a time. What a name stands for is in the
 * name (a digest of the files and settings), so that later jobs find what earlier ones built.
 */
export class TaskImages {
  readonly #viv: Vivarium;
  readonly #lease: JobLease;
  readonly #job: JobConfig;
  readonly #prepared = new Map<string, Promise<PreparedTask>>();
  readonly #built = new Map<string, Promise<Image>>();
  readonly #onOutput: (task: Task, text: string) => void;
  readonly #signal: AbortSignal;

  constructor(options: {
    viv: Vivarium;
    lease: JobLease;
    job: JobConfig;
    signal: AbortSignal;
    onOutput?: (task: Task, text: string) => void;
  }) {
    this.#viv = options.viv;
    this.#lease = options.lease;
    this.#job = options.job;
    this.#signal = options.signal;
    this.#onOutput = options.onOutput ?? (() => {});
  }

  /** A failure of the machinery is forgotten, so that a retry of the trial tries again; a failed build is remembered. */
  prepare(task: Task): Promise<PreparedTask> {
    let prepared = this.#prepared.get(task.dir);
    if (!prepared) {
      prepared = this.#prepare(task);
      this.#prepared.set(task.dir, prepared);
      prepared.catch((error: unknown) => {
        if (VivError.from(error).fault === 'infra') this.#prepared.delete(task.dir);
      });
    }
    return prepared;
  }

  /** The verifier's images alone, with other tests where `tests` names a directory. */
  async verifiers(task: Task, tests: string | null): Promise<Pick<PreparedTask, 'graders' | 'separate'>> {
    const steps = stepsOf(task).map((step) => (tests === null ? step : withTests(step, tests)));
    const [graders, separate] = await Promise.all([
      Promise.all(steps.map((step) => this.#grader(task, step))),
      Promise.all(steps.map((step) => this.#separateImage(task, step))),
    ]);
    return { graders, separate };
  }

  async #prepare(task: Task): Promise<PreparedTask> {
    const [image, verifiers] = await Promise.all([
      this.#taskImage(task, stepsOf(task)[0]!),
      this.verifiers(task, null),
    ]);
    return { image, ...verifiers };
  }

  /** The environment plus what every trial would have to upload: the log directories, the instruction, files for the workdir. */
  async #taskImage(task: Task, first: TrialStep): Promise<Image> {
    const base = await this.#environmentImage(task, task.environment);
    const tree = new FileTree();
    for (const name of ['agent', 'verifier', 'artifacts']) tree.addDirectory(`logs/${name}`, 0o777);
    tree.addFile(INSTRUCTION_PATH.slice(1), first.instruction);
    const workdir = workdirOf(task, base);
    if (task.environment.kind === 'image' && task.environment.upload !== null)
      await tree.addTree(workdir, task.environment.upload);
    const name = `task/${slug(task.id)}@${shortDigest(FORMAT, base.digest, await tree.digest(), workdir)}`;
    return this.#once(name, async () => {
      const labels = { 'viv.job': this.#job.vivarium.id, 'viv.role': 'prepare' };
      const sandbox = await this.#lease.create({ image: base.name, labels, user: 'root' }, { signal: this.#signal });
      try {
        await sandbox.files.upload('/', tree.tar(), { user: 'root', signal: this.#signal });
        // Else the first step brings it.
        if (first.workdir === null) await requireDirectory(sandbox, workdir);
        return (await sandbox.pack({ image: name, scrub: 'none', times: 'kept' })).image;
      } finally {
        await sandbox.kill().catch(() => {});
      }
    });
  }

  async #grader(task: Task, step: TrialStep): Promise<string | null> {
    if (step.tests.length === 0 || step.separate?.kind === 'dockerfile') return null;
    const tree = new FileTree().addDirectory('tests');
    for (const tests of step.tests) await tree.addTree('tests', tests);
    const name = `grader/${slug(task.id)}@${shortDigest(FORMAT, await tree.digest())}`;
    await this.#once(name, () =>
      this.#viv.images.importTar(name, tree.tar(), { opaque: ['/tests'], signal: this.#signal }),
    );
    return name;
  }

  async #separateImage(task: Task, step: TrialStep): Promise<Image | null> {
    if (step.separate === null) return null;
    return this.#environmentImage(task, step.separate);
  }

  async #environmentImage(task: Task, environment: TaskEnvironment): Promise<Image> {
    if (environment.kind === 'image' && !(this.#job.environment.force_build && environment.context !== null))
      return this.#existing(task, environment.ref);
    return this.#build(
      task,
      environment,
      environment.kind === 'dockerfile' ? environment.context : environment.context!,
    );
  }

  /** By the map, else as it is named: an image of ours, or an OCI reference that the node imports. */
  async #existing(task: Task, ref: string): Promise<Image> {
    const name = this.#job.vivarium.map[ref] ?? ref;
    const progress = baseProgress(this.#signal, (text) => this.#onOutput(task, text));
    if (isImageName(name)) return this.#viv.images.withBase(() => this.#viv.images.get(name), progress);
    const labels = { 'viv.job': this.#job.vivarium.id, 'viv.role': 'prepare' };
    await using sandbox = await this.#lease.create({ image: name, labels }, { signal: this.#signal });
    return await this.#viv.images.get(sandbox.info.image);
  }

  async #build(task: Task, environment: TaskEnvironment, context: string): Promise<Image> {
    const dockerfile = environment.kind === 'dockerfile' ? environment.dockerfile : 'Dockerfile';
    const { map } = this.#job.vivarium;
    const network = this.#job.vivarium.buildNetwork ?? task.config.vivarium.buildNetwork;
    const files = await checksumOf(context, await readTree(context));
    const forced = this.#job.environment.force_build ? this.#job.vivarium.id : '';
    const name = `task-env/${slug(task.id)}@${shortDigest(FORMAT, files, dockerfile, map, network, forced)}`;
    return this.#once(name, () =>
      buildImage(this.#viv, {
        name,
        context,
        dockerfile,
        environment: environment.config,
        network,
        map,
        noCache: forced !== '',
        signal: this.#signal,
        onText: (text) => this.#onOutput(task, text),
      }),
    );
  }

  /** The image of that name, made unless it is there; several tasks may share one. */
  #once(name: string, make: () => Promise<Image>): Promise<Image> {
    let made = this.#built.get(name);
    if (!made) {
      made = this.#getOrMake(name, make);
      this.#built.set(name, made);
      made.catch(() => this.#built.delete(name));
    }
    return made;
  }

  async #getOrMake(name: string, make: () => Promise<Image>): Promise<Image> {
    try {
      return await this.#viv.images.get(name);
    } catch (error) {
      if (VivError.from(error).code !== 'image_not_found') throw error;
    }
    try {
      return await make();
    } catch (error) {
      // Another job on this node made it meanwhile.
      if (VivError.from(error).code === 'image_exists') return this.#viv.images.get(name);
      throw error;
    }
  }
}

/** An agent could not even begin: that is no fault of its. */
async function requireDirectory(sandbox: Sandbox, path: string): Promise<void> {
  const found = await sandbox.files.stat(path, { follow: true, user: 'root' }).catch((error: unknown) => {
    if (VivError.from(error).fault === 'infra') throw error;
    return null;
  });
  if (found?.type === 'dir') return;
  throw new VivError('task_invalid', `the task's image has no directory ${path} to work in`, {
    hint: 'environment.workdir in task.toml, or WORKDIR of the image, says where agent and tests begin.',
  });
}

/** With other tests: laid over, or the files that a separate verifier's Dockerfile copies. */
function withTests(step: TrialStep, tests: string): TrialStep {
  const { separate } = step;
  return {
    ...step,
    tests: [tests],
    separate: separate?.kind === 'dockerfile' ? { ...separate, context: tests } : separate,
  };
}

/** `name@version`; an OCI reference has a tag or a digest of its own form. */
function isImageName(text: string): boolean {
  return /^([a-z0-9][a-z0-9._-]*\/){0,3}[a-z0-9][a-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9._-]*$/.test(text);
}
