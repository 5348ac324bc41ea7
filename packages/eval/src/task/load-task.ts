import { lstat, readFile, realpath, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { inTask, taskInvalid, taskRefused } from './complaint.ts';
import type { EnvironmentConfig } from './config.ts';
import { readConfig, type StepConfig, TASK_FILE } from './config-reader.ts';
import { toInstruction } from './instruction.ts';
import { scriptWarnings } from './script.ts';
import type { Task, TaskEnvironment, TaskStep, TaskWarning } from './task.ts';
import { checksumOf, readTree, type TreeEntry } from './tree.ts';

const TEXT_BYTES_MAX = 4 * 2 ** 20;

/**
 * Reads and checks a task directory. Nothing is run or built. Throws `task_invalid` (the format is broken: file, line and
 * field are named) or `task_refused` (it needs what is not offered). Unknown fields and the like are `warnings`.
 */
export async function loadTask(directory: string): Promise<Task> {
  try {
    return await load(directory);
  } catch (error) {
    throw inTask(basename(resolve(directory)), error);
  }
}

async function load(directory: string): Promise<Task> {
  const dir = await realpath(directory).catch(() => undefined);
  if (dir === undefined) throw taskInvalid({ file: TASK_FILE }, `there is no directory ${directory}`);
  if (!(await isThere(join(dir, TASK_FILE))))
    throw taskInvalid({ file: TASK_FILE }, `is missing; ${directory} is no task`);
  const files = new Tree(dir, await readTree(dir));
  const { config, steps: stepConfigs, warnings } = readConfig(await files.text(TASK_FILE));
  const environment = environmentOf(files, 'environment', config.environment);
  const isSeparate = config.verifier.mode === 'separate';
  const steps: TaskStep[] = [];
  for (const step of stepConfigs) steps.push(await readStep(files, step, warnings));
  if (steps.length === 0) requireTests(files, isSeparate, 'tests/test.sh');
  warnings.push(...(await scriptWarnings(dir, files.entries)));
  return {
    id: config.task.name ?? basename(dir),
    dir,
    checksum: await checksumOf(dir, files.entries),
    instruction: steps.length === 0 ? await instructionOf(files, 'instruction.md', warnings) : '',
    config,
    environment,
    separate: isSeparate ? separateOf(files, config.verifier.environment, 'tests') : null,
    tests: files.directory('tests'),
    solution: files.has('solution/solve.sh') ? files.directory('solution') : null,
    steps,
    warnings,
  };
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

async function readStep(files: Tree, config: StepConfig, warnings: TaskWarning[]): Promise<TaskStep> {
  const folder = `steps/${config.name}`;
  if (files.directory(folder) === null)
    throw taskInvalid({ file: TASK_FILE, field: 'steps' }, `there is no directory ${folder}`);
  const isSeparate = config.verifier.mode === 'separate';
  if (!files.has('tests/test.sh')) requireTests(files, isSeparate, `${folder}/tests/test.sh`);
  const ownTests = files.has(`${folder}/tests/Dockerfile`) ? `${folder}/tests` : 'tests';
  return {
    ...config,
    dir: join(files.root, folder),
    instruction: await instructionOf(files, `${folder}/instruction.md`, warnings),
    separate: isSeparate ? separateOf(files, config.verifier.environment, ownTests) : null,
    tests: files.directory(`${folder}/tests`),
    solution: files.has(`${folder}/solution/solve.sh`) ? files.directory(`${folder}/solution`) : null,
    workdir: files.directory(`${folder}/workdir`),
    setup: files.has(`${folder}/workdir/setup.sh`) ? join(files.root, folder, 'workdir/setup.sh') : null,
  };
}

/** The agent's image: docker_image before the Dockerfile. */
function environmentOf(files: Tree, folder: string, config: EnvironmentConfig): TaskEnvironment {
  for (const name of ['docker-compose.yaml', 'docker-compose.yml', 'compose.yaml', 'compose.yml']) {
    const file = `${folder}/${name}`;
    if (files.has(file))
      throw taskRefused({ file, field: file }, 'asks for several containers; a task has one sandbox');
  }
  const context = files.directory(folder);
  const dockerfile = context !== null && files.has(`${folder}/Dockerfile`) ? 'Dockerfile' : null;
  if (config.dockerImage !== null) {
    const hasFiles = files.entries.some(({ path }) => path.startsWith(`${folder}/`));
    const upload = dockerfile === null && hasFiles ? context : null;
    return { kind: 'image', ref: config.dockerImage, context: dockerfile === null ? null : context, upload, config };
  }
  if (context !== null && dockerfile !== null) return { kind: 'dockerfile', context, dockerfile, config };
  const hint = 'A task needs environment/Dockerfile or [environment] docker_image.';
  throw taskInvalid({ file: `${folder}/Dockerfile` }, 'is missing, and task.toml names no docker_image', hint);
}

/** A separate verifier's image: of its table, else built from tests/; with a table and nothing to build it is the agent's. */
function separateOf(files: Tree, table: EnvironmentConfig | null, folder: string): TaskEnvironment {
  const config = table ?? EMPTY_ENVIRONMENT;
  if (config.dockerImage !== null)
    return { kind: 'image', ref: config.dockerImage, context: null, upload: null, config };
  const context = files.directory(folder);
  if (context !== null && files.has(`${folder}/Dockerfile`))
    return { kind: 'dockerfile', context, dockerfile: 'Dockerfile', config };
  const hint = 'A separate verifier needs tests/Dockerfile or [verifier.environment] docker_image.';
  throw taskInvalid({ file: `${folder}/Dockerfile` }, 'is missing, but the verifier is separate', hint);
}
const EMPTY_ENVIRONMENT: EnvironmentConfig = {
  dockerImage: null,
  buildTimeoutMs: 600_000,
  cpus: null,
  memoryMiB: null,
  storageMiB: null,
  networkMode: 'public',
  allowedHosts: [],
  env: {},
  workdir: null,
  healthcheck: null,
  mcpServers: [],
  skillsDir: null,
};

function requireTests(files: Tree, isSeparate: boolean, file: string): void {
  if (isSeparate || files.has(file)) return;
  throw taskInvalid({ file }, 'is missing: nothing could grade this task');
}

async function instructionOf(files: Tree, file: string, warnings: TaskWarning[]): Promise<string> {
  if (!files.has(file)) throw taskInvalid({ file }, 'is missing: the agent would not know what to do');
  const instruction = toInstruction(await files.text(file), file, warnings);
  if (instruction.trim() === '') throw taskInvalid({ file }, 'is empty: the agent would not know what to do');
  return instruction;
}

/** A task's directory with what is in it. */
class Tree {
  readonly root: string;
  readonly entries: readonly TreeEntry[];
  readonly #types: Map<string, TreeEntry['resolved']>;

  constructor(root: string, entries: readonly TreeEntry[]) {
    this.root = root;
    this.entries = entries;
    this.#types = new Map(entries.map(({ path, resolved }) => [path, resolved]));
  }

  /** Is there such a file? A directory in its place is `task_invalid`: it was meant to be one. */
  has(path: string): boolean {
    const type = this.#types.get(path);
    if (type === 'directory') throw taskInvalid({ file: path }, 'is a directory; a file belongs there');
    return type === 'file';
  }

  /** The absolute path of a directory, or null. */
  directory(path: string): string | null {
    return this.#types.get(path) === 'directory' ? join(this.root, path) : null;
  }

  async text(path: string): Promise<string> {
    this.has(path);
    const file = join(this.root, path);
    const { size } = await stat(file);
    if (size > TEXT_BYTES_MAX) throw taskInvalid({ file: path }, `is larger than ${TEXT_BYTES_MAX / 2 ** 20} MiB`);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await readFile(file));
    } catch (error) {
      if (error instanceof TypeError) throw taskInvalid({ file: path }, 'is not UTF-8', undefined, error);
      throw error;
    }
  }
}
