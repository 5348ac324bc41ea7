import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Vivarium, VivError } from '@vivarium/sdk';
import type { Task } from '../task/task.ts';
import { loadTaskSet, type TaskFilter } from '../task/task-set.ts';
import { bySeverity, type Finding } from './finding.ts';
import { judge } from './judgement.ts';
import type { TaskReport, ValidationReport } from './report.ts';
import { checkStatically } from './static-checks.ts';
import { runTasks, type TaskRuns } from './trial-runs.ts';

export type ValidateOptions = {
  path: string;
  filter?: TaskFilter;
  /** Only what files tell: no server is needed. */
  staticOnly?: boolean;
  /** How often the oracle runs. Default 3. */
  attempts?: number;
  /** Trials at once. Default 4. */
  concurrent?: number;
  /** FROM name → image of ours. */
  map?: Record<string, string>;
  buildNetwork?: 'none' | 'node' | null;
  /** Keep the two jobs here, for `viv trial show`; default: they are removed. */
  jobsDir?: string;
  hostEnv?: Readonly<Record<string, string | undefined>>;
  signal?: AbortSignal;
  onProgress?: (line: string) => void;
};
export type Server = { viv: Vivarium; connection: { url: string; apiKey: string | undefined } };

/**
 * Is this a set of tasks that can be trusted? Reads every task, then builds its image, looks for the answer in it, runs
 * the oracle several times and nop once, and watches the verifier. Throws what `loadTaskSet` throws, and infrastructure
 * failures; all that is wrong with a task is in its report. `server` may be left out with `staticOnly`.
 */
export async function validateTasks(options: ValidateOptions, server?: Server): Promise<ValidationReport> {
  const set = await loadTaskSet(options.path, options.filter ?? {});
  const progress = options.onProgress ?? (() => {});
  const jobsDir = options.jobsDir ?? (await mkdtemp(join(tmpdir(), 'viv-validate-')));
  try {
    const runs = await runAll(
      set.tasks,
      { ...options, jobsDir, keep: options.jobsDir !== undefined },
      server,
      progress,
    );
    const tasks: TaskReport[] = [];
    for (const task of set.tasks) tasks.push(await reportOf(task, runs));
    const broken = set.broken.map(({ folder, error }) => {
      const { code, message, hint } = error;
      return { folder, code, message, hint };
    });
    return { set: set.name, ok: broken.length === 0 && tasks.every(({ ok }) => ok), tasks, broken };
  } finally {
    if (options.jobsDir === undefined) await rm(jobsDir, { recursive: true, force: true });
  }
}

async function runAll(
  tasks: readonly Task[],
  options: ValidateOptions & { jobsDir: string; keep: boolean },
  server: Server | undefined,
  progress: (line: string) => void,
): Promise<ReadonlyMap<string, TaskRuns>> {
  if (options.staticOnly || tasks.length === 0) return new Map();
  if (server === undefined) throw new VivError('invalid_argument', 'a validation that runs tasks needs a server');
  return runTasks(tasks, {
    ...server,
    id: randomUUID(),
    path: options.path,
    jobsDir: options.jobsDir,
    keep: options.keep,
    attempts: options.attempts ?? 3,
    concurrent: options.concurrent ?? 4,
    map: options.map ?? {},
    buildNetwork: options.buildNetwork ?? null,
    hostEnv: options.hostEnv ?? process.env,
    signal: options.signal ?? new AbortController().signal,
    progress,
  });
}

async function reportOf(task: Task, all: ReadonlyMap<string, TaskRuns>): Promise<TaskReport> {
  const { findings: fromFiles } = await checkStatically(task);
  const done = all.get(task.id);
  const findings: Finding[] = [...fromFiles, ...(done?.findings ?? []), ...(done ? judge(task, done.runs) : [])];
  return {
    id: task.id,
    dir: task.dir,
    checksum: task.checksum,
    ok: findings.every(({ severity }) => severity !== 'error'),
    runs: done?.runs ?? [],
    findings: bySeverity(findings),
  };
}
