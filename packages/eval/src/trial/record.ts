import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Treatment } from '@vivarium/sdk';
import type { JobConfig } from '../job/config.ts';
import { writeJson } from '../job/json-file.ts';
import type { PlannedTrial } from '../job/plan.ts';
import type { AgentFailure, Rewards, TrialOutcome, TrialStop } from './outcome.ts';
import {
  type AgentInfo,
  exceptionOf,
  type Span,
  type StepResult,
  type TrialConfig,
  type TrialDetails,
  type TrialResult,
} from './result.ts';

type SpanName = 'environment_setup' | 'agent_setup' | 'agent_execution' | 'verifier';

/** Gathers what happens in one try of a trial, and makes its result of that. */
export class TrialRecord {
  readonly dir: string;
  readonly notes: string[] = [];
  readonly steps: StepResult[] = [];
  readonly images: TrialDetails['images'] = { task: null, grader: null, state: null, graded: null };
  agentResult: TrialResult['agent_result'] = null;
  agentFailure: AgentFailure | null = null;
  rewards: Rewards | null = null;
  verification: TrialDetails['verification'] = null;
  treatment: Treatment | null = null;
  suspectReasons: string[] = [];
  agentMs = 0;
  testMs = 0;
  readonly #planned: PlannedTrial;
  readonly #job: JobConfig;
  readonly #info: AgentInfo;
  readonly startedAt = new Date();
  readonly #clock = performance.now();
  readonly #spans: Partial<Record<SpanName, Span>> = {};

  private constructor(dir: string, planned: PlannedTrial, job: JobConfig, info: AgentInfo) {
    this.dir = dir;
    this.#planned = planned;
    this.#job = job;
    this.#info = info;
  }

  /** Makes the trial's directory, empty, with its config.json. */
  static begin(dir: string, planned: PlannedTrial, job: JobConfig, info: AgentInfo): TrialRecord {
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir, { recursive: true });
    for (const name of ['agent', 'verifier', 'artifacts']) mkdirSync(join(dir, name));
    const record = new TrialRecord(dir, planned, job, info);
    writeJson(join(dir, 'config.json'), record.config, { durable: false });
    return record;
  }

  get config(): TrialConfig {
    const { trial_name, task_path, attempt } = this.#planned;
    return {
      task: { path: task_path },
      trial_name,
      trials_dir: join(this.#job.jobs_dir, this.#job.job_name),
      job_id: this.#job.vivarium.id,
      attempt,
    };
  }

  log(line: string): void {
    appendFileSync(join(this.dir, 'trial.log'), `${new Date().toISOString()} ${line}\n`);
  }

  /** Measures a stretch; of several of one name (steps) the first start and the last end count. */
  async span<T>(name: SpanName, act: () => Promise<T>): Promise<T> {
    const started_at = new Date().toISOString();
    try {
      return await act();
    } finally {
      const before = this.#spans[name];
      this.#spans[name] = { started_at: before?.started_at ?? started_at, finished_at: new Date().toISOString() };
    }
  }

  spanOf(name: SpanName): Span | null {
    return this.#spans[name] ?? null;
  }

  result(
    outcome: TrialOutcome,
    options: {
      source: string;
      checksum: string;
      stop: TrialStop | null;
      earlierTries: TrialDetails['earlierTries'];
      multiStep: boolean;
    },
  ): TrialResult {
    const totalMs = performance.now() - this.#clock;
    const { trial_name, task_id, task_path, attempt } = this.#planned;
    const now = new Date().toISOString();
    return {
      id: randomUUID(),
      task_name: task_id,
      trial_name,
      trial_uri: pathToFileURL(this.dir).href,
      task_id: { path: task_path },
      source: options.source,
      task_checksum: options.checksum,
      config: this.config,
      agent_info: this.#info,
      agent_result: this.agentResult,
      verifier_result: this.rewards && { rewards: this.rewards },
      exception_info: this.#exception(outcome, options.stop, now),
      started_at: this.startedAt.toISOString(),
      finished_at: now,
      environment_setup: this.spanOf('environment_setup'),
      agent_setup: this.spanOf('agent_setup'),
      agent_execution: this.spanOf('agent_execution'),
      verifier: this.spanOf('verifier'),
      step_results: options.multiStep ? this.steps : null,
      vivarium: {
        outcome,
        attempt,
        images: this.images,
        verification: this.verification,
        treatment: this.treatment,
        suspect: this.suspectReasons.length > 0,
        suspectReasons: this.suspectReasons,
        earlierTries: options.earlierTries,
        notes: this.notes.slice(0, 50),
        timings: {
          totalMs: round(totalMs),
          agentMs: round(this.agentMs),
          testMs: round(this.testMs),
          overheadMs: round(totalMs - this.agentMs - this.testMs),
        },
      },
    };
  }

  #exception(outcome: TrialOutcome, stop: TrialStop | null, now: string): TrialResult['exception_info'] {
    if (stop) return exceptionOf(stop.error, `${outcome}:${stop.error.code}`, now);
    if (this.agentFailure) return exceptionOf(new Error(this.agentFailure.message), outcome, now);
    if (outcome !== 'verifier_error') return null;
    return exceptionOf(new Error(this.verification?.rewardError ?? 'the verifier wrote no reward'), outcome, now);
  }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
