import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Vivarium, VivError } from '@vivarium/sdk';
import { agentOf } from '../agent/index.ts';
import type { Task } from '../task/index.ts';
import type { TrialContext } from '../trial/context.ts';
import { TrialStop } from '../trial/outcome.ts';
import { TrialRecord } from '../trial/record.ts';
import type { TrialResult } from '../trial/result.ts';
import type { TrialRun } from '../trial/run-trial.ts';
import { TaskImages } from '../trial/task-images.ts';
import { agentTrials } from './agent-trials.ts';
import type { JobConfig } from './config.ts';
import type { JobDirectory } from './directory.ts';
import type { JobEvent } from './event.ts';
import { HostWatch } from './host-watch.ts';
import { saveJson } from './json-file.ts';
import { endEarlierRun, JobLease } from './lease.ts';
import type { PlannedTrial } from './plan.ts';
import { ReadyQueue } from './ready-queue.ts';
import { regradeTrials } from './regrade-trials.ts';
import { type JobResult, jobResult } from './result.ts';
import { withRetries } from './retry.ts';
import { RunnerLock } from './runner-lock.ts';

export type RunOptions = {
  viv: Vivarium;
  connection: { url: string; apiKey: string | undefined };
  hostEnv?: Readonly<Record<string, string | undefined>>;
  /** Aborted: no trial begins any more, running ones end with their sandboxes and are run again by `resume`. */
  signal?: AbortSignal;
  onEvent?: (event: JobEvent) => void;
};

/** A task of the plan as it is now, or why it can't run. */
export type LoadedTask = Task | VivError;

/** What one job's trials are: an agent's work, or a grade of saved work. */
export type TrialKind = {
  /** Makes what all trials of the task need. */
  prepare(task: Task): Promise<unknown>;
  /** One try; every failure but an abort is in the result. */
  attempt(run: TrialRun): Promise<TrialResult>;
  /** Takes away what an earlier try left on the node. */
  clear(planned: PlannedTrial, task: Task): Promise<void>;
};

/** Images that are made at once, beside the trials. */
const BUILDS_AT_ONCE = 2;
const RESULT_EVERY_MS = 2_000;

/**
 * Runs what is left of a job: all of a new one, the unfinished trials of one that was interrupted. One process at a time.
 * Throws `job_running`, and what makes every trial pointless (no server, no right); a failing trial is in the results.
 */
export async function runJob(
  directory: JobDirectory,
  tasks: ReadonlyMap<string, LoadedTask>,
  options: RunOptions,
): Promise<JobResult> {
  using _lock = RunnerLock.take(directory.path);
  const job = directory.config;
  await endEarlierRun(options.viv, job.vivarium.id);
  await using lease = await JobLease.take(options.viv, job.vivarium.id);
  using host = await new HostWatch(options.viv).start();
  const context = contextOf(directory, job, { lease, host }, options);
  const kind = job.vivarium.regradeOf === null ? agentTrials(context) : regradeTrials(context);
  const run = new JobRun(directory, job, tasks, { context, kind, onEvent: options.onEvent ?? (() => {}) });
  // Awaited here: lock and lease are given back when it has ended.
  return await run.run();
}

function contextOf(
  directory: JobDirectory,
  job: JobConfig,
  { lease, host }: { lease: JobLease; host: HostWatch },
  options: RunOptions,
): TrialContext {
  const { viv, connection, hostEnv = process.env, signal = new AbortController().signal, onEvent } = options;
  const onOutput = (task: Task, text: string) => onEvent?.({ type: 'image', task: task.id, text });
  return {
    viv,
    lease,
    job,
    agent: agentOf(job.agents[0]!),
    host,
    images: new TaskImages({ viv, lease, job, signal, onOutput }),
    jobDir: directory.path,
    source: basename(job.datasets[0]!.path),
    hostEnv,
    connection,
    signal,
  };
}

class JobRun {
  readonly #directory: JobDirectory;
  readonly #job: JobConfig;
  readonly #tasks: ReadonlyMap<string, LoadedTask>;
  readonly #context: TrialContext;
  readonly #kind: TrialKind;
  readonly #onEvent: (event: JobEvent) => void;
  readonly #trials: PlannedTrial[];
  readonly #done = new Map<string, TrialResult>();
  readonly #startedAt: string;
  #writtenAt = 0;

  constructor(
    directory: JobDirectory,
    job: JobConfig,
    tasks: ReadonlyMap<string, LoadedTask>,
    options: { context: TrialContext; kind: TrialKind; onEvent: (event: JobEvent) => void },
  ) {
    this.#directory = directory;
    this.#job = job;
    this.#tasks = tasks;
    this.#context = options.context;
    this.#kind = options.kind;
    this.#onEvent = options.onEvent;
    this.#trials = directory.plan.trials;
    this.#startedAt = directory.result?.started_at ?? new Date().toISOString();
    for (const result of directory.trialResults()) this.#done.set(result.trial_name, result);
  }

  async run(): Promise<JobResult> {
    const { signal } = this.#context;
    const pending = this.#trials.filter(({ trial_name }) => !this.#done.has(trial_name));
    this.#directory.log(`${pending.length} of ${this.#trials.length} trials to run`);
    this.#onEvent({ type: 'begin', total: this.#trials.length, done: [...this.#done.values()] });
    this.#write(null);
    const queue = this.#queue(pending);
    const onAbort = () => queue.close();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      const slots = Math.min(this.#job.n_concurrent_trials, Math.max(1, pending.length));
      const ends = await Promise.allSettled(Array.from({ length: slots }, () => this.#slot(queue)));
      const failure = ends.find((end) => end.status === 'rejected');
      if (failure && !signal.aborted) throw failure.reason;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#write(signal.aborted ? null : new Date().toISOString(), true);
    }
    signal.throwIfAborted();
    return this.#result(new Date().toISOString());
  }

  /** Images are made a few tasks at a time; a task's trials are ready when its images are, or can't be. */
  #queue(pending: readonly PlannedTrial[]): ReadyQueue<PlannedTrial> {
    const paths = new Set(pending.map(({ task_path }) => task_path));
    const queue = new ReadyQueue<PlannedTrial>(paths.size);
    const left = paths.values();
    const builder = async () => {
      for (const path of left) {
        const task = this.#tasks.get(path);
        if (task && !(task instanceof VivError) && !this.#context.signal.aborted)
          await this.#kind.prepare(task).catch(() => {});
        queue.add(pending.filter(({ task_path }) => task_path === path));
      }
    };
    for (let i = 0; i < BUILDS_AT_ONCE; i++) void builder();
    if (paths.size === 0) queue.close();
    return queue;
  }

  async #slot(queue: ReadyQueue<PlannedTrial>): Promise<void> {
    for (let trial = await queue.take(); trial && !this.#context.signal.aborted; trial = await queue.take()) {
      const endings: Promise<void>[] = [];
      try {
        await this.#trial(trial, endings);
      } catch (error) {
        // One broken slot must not go on taking trials of a job that can't work.
        queue.close();
        throw error;
      } finally {
        // The result is there. What the trial held is given back before the slot takes another.
        await Promise.all(endings);
      }
      this.#onEvent({ type: 'freed', trial });
    }
  }

  async #trial(planned: PlannedTrial, endings: Promise<void>[]): Promise<void> {
    const { signal } = this.#context;
    const task = this.#tasks.get(planned.task_path);
    const result =
      task === undefined || task instanceof VivError
        ? this.#refused(planned, task ?? new VivError('task_invalid', `${planned.task_path} is no longer there`))
        : await withRetries(
            (earlierTries) => this.#attempt(planned, task, earlierTries, endings),
            { maxRetries: this.#job.retry.max_retries, rerunSuspect: this.#job.vivarium.rerunSuspect },
            signal,
          );
    // The trial is done with this; nothing of it is run again.
    await saveJson(join(this.#directory.trialPath(planned.trial_name), 'result.json'), result);
    this.#done.set(planned.trial_name, result);
    this.#directory.log(`${planned.trial_name} ${result.vivarium.outcome}`);
    this.#write(null);
    this.#onEvent({ type: 'trial', trial: planned, result });
  }

  async #attempt(
    planned: PlannedTrial,
    task: Task,
    earlierTries: TrialResult['vivarium']['earlierTries'],
    endings: Promise<void>[],
  ): Promise<TrialResult> {
    const dir = this.#directory.trialPath(planned.trial_name);
    const again = earlierTries.length > 0;
    if (again) this.#onEvent({ type: 'retry', trial: planned, message: earlierTries.at(-1)!.message });
    try {
      await Promise.all(endings);
      // An earlier try has left a directory, maybe a sandbox and images.
      if (again || existsSync(dir)) await this.#kind.clear(planned, task);
      return await this.#kind.attempt({
        planned,
        task,
        earlierTries,
        onPhase: (phase) => this.#onEvent({ type: 'phase', trial: planned, phase }),
        onEnding: (rest) => endings.push(rest),
      });
    } catch (error) {
      this.#context.signal.throwIfAborted();
      const failure = VivError.from(error);
      if (FATAL.has(failure.code)) throw failure;
      return this.#stopped(planned, task.checksum, new TrialStop('infra_error', failure), earlierTries);
    }
  }

  #refused(planned: PlannedTrial, error: VivError): TrialResult {
    return this.#stopped(planned, '', new TrialStop('refused', error), []);
  }

  #stopped(
    planned: PlannedTrial,
    checksum: string,
    stop: TrialStop,
    earlierTries: TrialResult['vivarium']['earlierTries'],
  ): TrialResult {
    const record = TrialRecord.begin(
      this.#directory.trialPath(planned.trial_name),
      planned,
      this.#job,
      this.#context.agent.info,
    );
    record.log(`${stop.outcome}: ${stop.message}`);
    return record.result(stop.outcome, {
      source: this.#context.source,
      checksum,
      stop,
      earlierTries,
      multiStep: false,
    });
  }

  #write(finishedAt: string | null, last = false): void {
    if (!last && Date.now() - this.#writtenAt < RESULT_EVERY_MS) return;
    this.#writtenAt = Date.now();
    this.#directory.writeResult(this.#result(finishedAt), last);
  }

  #result(finishedAt: string | null): JobResult {
    const results = this.#trials
      .map(({ trial_name }) => this.#done.get(trial_name))
      .filter((result) => result !== undefined);
    const times = { startedAt: this.#startedAt, updatedAt: new Date().toISOString(), finishedAt };
    return jobResult(this.#job, results, this.#trials.length, times);
  }
}

/** No trial of the job can work. */
const FATAL: ReadonlySet<string> = new Set(['unauthenticated', 'forbidden']);
