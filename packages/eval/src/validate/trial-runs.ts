import { basename } from 'node:path';
import { type Treatment, type Vivarium, VivError } from '@vivarium/sdk';
import { agentConfig } from '../agent/index.ts';
import type { JobConfig } from '../job/config.ts';
import type { JobDirectory } from '../job/directory.ts';
import { JobLease } from '../job/lease.ts';
import { removeJob } from '../job/remove.ts';
import { runJob } from '../job/run-job.ts';
import { startJob } from '../job/start.ts';
import type { Task } from '../task/task.ts';
import type { TrialResult } from '../trial/result.ts';
import { limitsFor, workdirOf } from '../trial/settings.ts';
import { answerFiles } from './answer-files.ts';
import type { Finding } from './finding.ts';
import { watchGrade } from './grade-watch.ts';
import { scanImage } from './image-scan.ts';
import type { ValidationRun } from './report.ts';

export type TaskRuns = { runs: ValidationRun[]; findings: Finding[] };
export type RunsOptions = {
  viv: Vivarium;
  connection: { url: string; apiKey: string | undefined };
  /** Of the two jobs; part of the names of their images. */
  id: string;
  path: string;
  jobsDir: string;
  /** The jobs and the states of their trials stay. */
  keep: boolean;
  attempts: number;
  concurrent: number;
  map: Record<string, string>;
  buildNetwork: 'none' | 'node' | null;
  hostEnv: Readonly<Record<string, string | undefined>>;
  signal: AbortSignal;
  progress: (line: string) => void;
};

/** Runs oracle and nop over all tasks as two jobs, then looks into each image. Infrastructure failures are thrown. */
export async function runTasks(tasks: readonly Task[], options: RunsOptions): Promise<Map<string, TaskRuns>> {
  const solved = tasks.filter(hasOracle);
  const jobs: JobDirectory[] = [];
  try {
    const oracle = solved.length === 0 ? [] : await runAs('oracle', options.attempts, solved, jobs, options);
    const built = tasks.filter((task) => !resultsOf(task, oracle).some(isUnbuilt));
    const nop = built.length === 0 ? [] : await runAs('nop', 1, built, jobs, options);
    const job = jobs.at(-1)!.config;
    await using lease = await JobLease.take(options.viv, `${options.id}-scan`);
    const all = new Map<string, TaskRuns>();
    for (const task of tasks) {
      options.signal.throwIfAborted();
      const mine = resultsOf(task, [...oracle, ...nop]);
      options.progress(`${task.id}: looking into its image`);
      all.set(task.id, { runs: mine.map(toRun), findings: await inspect(task, mine, lease, { ...options, job }) });
    }
    return all;
  } finally {
    if (!options.keep) await discard(jobs, options);
  }
}

function resultsOf(task: Task, results: readonly TrialResult[]): TrialResult[] {
  return results.filter(({ task_id }) => task_id.path === task.dir);
}

/** Its image would fail once more. */
function isUnbuilt({ vivarium }: TrialResult): boolean {
  return vivarium.outcome === 'build_error';
}

function hasOracle(task: Task): boolean {
  return task.steps.length === 0 ? task.solution !== null : task.steps.every(({ solution }) => solution !== null);
}

async function runAs(
  agent: 'oracle' | 'nop',
  attempts: number,
  tasks: readonly Task[],
  jobs: JobDirectory[],
  options: RunsOptions,
): Promise<TrialResult[]> {
  const { viv, connection, hostEnv, signal, progress, path, jobsDir, id, map, buildNetwork, concurrent } = options;
  const { directory, tasks: loaded } = await startJob({
    path,
    jobName: `validate-${agent}-${id.slice(0, 8)}`,
    jobsDir,
    id: `${id}-${agent}`,
    agent: agentConfig(agent),
    attempts,
    concurrent,
    names: tasks.map(({ dir }) => basename(dir)),
    details: { map, buildNetwork },
  });
  jobs.push(directory);
  const told = new Set<string>();
  await runJob(directory, loaded, {
    viv,
    connection,
    hostEnv,
    signal,
    onEvent: (event) => {
      if (event.type === 'trial') progress(`${event.result.task_name}: ${agent} ${event.result.vivarium.outcome}`);
      if (event.type === 'image' && !told.has(event.task)) {
        told.add(event.task);
        progress(`${event.task}: its image: ${event.text.trim().split('\n').at(-1)}`);
      }
      if (event.type === 'retry') progress(`${event.trial.task_id}: once more: ${event.message}`);
    },
  });
  return directory.trialResults();
}

async function inspect(
  task: Task,
  results: readonly TrialResult[],
  lease: JobLease,
  options: RunsOptions & { job: JobConfig },
): Promise<Finding[]> {
  const image = results.map(({ vivarium }) => vivarium.images.task?.name).find((name) => name !== undefined);
  if (image === undefined) return [];
  const { viv, hostEnv, signal, job } = options;
  const sandbox = await lease.create({ image, labels: { 'viv.role': 'validate' }, ttlS: 3600 }, { signal });
  const findings: Finding[] = [];
  try {
    findings.push(...(await scanImage(sandbox, await answerFiles(task))));
  } finally {
    await sandbox.kill().catch(() => {});
  }
  const passed = results.find(({ vivarium }) => vivarium.outcome === 'passed')?.vivarium;
  if (passed?.images.graded && passed.images.grader && task.steps.length === 0) {
    const info = await viv.images.get(image);
    findings.push(
      ...(await watchGrade({
        viv,
        task,
        image: passed.images.graded,
        grader: passed.images.grader,
        workdir: workdirOf(task, info),
        limits: limitsFor(task.environment.config, job),
        lease: lease.id,
        hostEnv,
        signal,
      })),
    );
  }
  return findings;
}

function toRun(result: TrialResult): ValidationRun {
  const { vivarium, verifier_result, exception_info } = result;
  const treatment = vivarium.treatment as Partial<Treatment> | null;
  return {
    agent: result.agent_info.name === 'oracle' ? 'oracle' : 'nop',
    outcome: vivarium.outcome,
    rewards: verifier_result?.rewards ?? null,
    message: exception_info?.exception_message ?? vivarium.verification?.rewardError ?? null,
    agentMs: vivarium.timings.agentMs,
    testMs: vivarium.timings.testMs,
    memoryPeakMiB: treatment?.memoryPeakMiB ?? null,
    memoryHeadroomPct: treatment?.memoryHeadroomPct ?? null,
  };
}

/** Jobs that nobody asked to keep, with the states of their trials. */
async function discard(directories: readonly JobDirectory[], { viv, progress }: RunsOptions): Promise<void> {
  for (const directory of directories) {
    await removeJob(viv, directory).catch((error: unknown) => {
      progress(`the images of a job are still on the node (viv image ls --all): ${VivError.from(error).message}`);
    });
  }
}
