import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Sandbox, treatment, VivError } from '@vivarium/sdk';
import { modelEnv } from '../agent/model.ts';
import type { PlannedTrial } from '../job/plan.ts';
import { agentVariables } from '../task/agent-variables.ts';
import { resolveEnv } from '../task/env.ts';
import type { Task } from '../task/index.ts';
import { type BoxSpec, nextStep, startBox } from './agent-box.ts';
import { collectLogs } from './collect.ts';
import type { Phase, TrialContext } from './context.ts';
import { stepPart, trialImage } from './image-name.ts';
import { LogBudget } from './log-files.ts';
import { outcomeOf, stopFor, TrialStop } from './outcome.ts';
import { TrialRecord } from './record.ts';
import { explained, type TrialDetails, type TrialResult } from './result.ts';
import { gradeSeparately } from './separate.ts';
import { agentTimeoutMs, trialLabels, workdirOf } from './settings.ts';
import { combineRewards, fallsShort, stepsOf, type TrialStep } from './steps.ts';
import type { PreparedTask } from './task-images.ts';
import { type Grade, gradeState, isInPlace } from './verification.ts';

export type TrialRun = {
  planned: PlannedTrial;
  task: Task;
  earlierTries: TrialDetails['earlierTries'];
  onPhase?: (phase: Phase) => void;
  /** Handed what goes on when the result is there: sandboxes end. It never rejects. */
  onEnding: (rest: Promise<void>) => void;
};

/**
 * One try of a trial, from the images to the grade. Writes everything of the trial's directory but result.json, which its
 * caller writes last. Throws the signal's reason when aborted; every other failure is in the result.
 */
export async function runTrial(context: TrialContext, run: TrialRun): Promise<TrialResult> {
  const { planned, task } = run;
  const dir = join(context.jobDir, planned.trial_name);
  const record = TrialRecord.begin(dir, planned, context.job, context.agent.info);
  const trial = new Trial(context, run, record);
  let stop: TrialStop | null = null;
  try {
    await trial.run();
  } catch (error) {
    context.signal.throwIfAborted();
    if (!(error instanceof TrialStop)) throw error;
    stop = error;
    record.log(`${stop.outcome}: ${stop.message}`);
    writeFileSync(join(dir, 'exception.txt'), `${explained(stop.error)}\n\n${stop.error.stack ?? ''}\n`);
  }
  return record.result(stop?.outcome ?? trial.outcome(), {
    source: context.source,
    checksum: task.checksum,
    stop,
    earlierTries: run.earlierTries,
    multiStep: task.steps.length > 0,
  });
}

class Trial {
  readonly #context: TrialContext;
  readonly #task: Task;
  readonly #record: TrialRecord;
  readonly #steps: TrialStep[];
  readonly #trialName: string;
  readonly #labels: Record<string, string>;
  readonly #onPhase: (phase: Phase) => void;
  readonly #onEnding: TrialRun['onEnding'];
  readonly #budget = new LogBudget();
  #workdir = '/';
  #ungraded = false;
  /** The last verification has ended the agent's sandbox. */
  #ended = false;

  constructor(context: TrialContext, run: TrialRun, record: TrialRecord) {
    this.#context = context;
    this.#task = run.task;
    this.#record = record;
    this.#steps = stepsOf(run.task);
    this.#onPhase = run.onPhase ?? (() => {});
    this.#onEnding = run.onEnding;
    this.#trialName = run.planned.trial_name;
    this.#labels = trialLabels(context.job, this.#trialName, run.task);
  }

  outcome() {
    const { agentFailure, rewards } = this.#record;
    return outcomeOf(agentFailure, this.#ungraded ? null : rewards, !this.#context.job.verifier.disable);
  }

  async run(): Promise<void> {
    const { images } = this.#context;
    if (isInPlace(this.#context.job, this.#task) && this.#task.config.vivarium.isolation === 'black_box')
      throw stopFor(
        new VivError(
          'task_refused',
          'isolation black_box can’t be had in place: the agent’s own sandbox is no black box',
        ),
        'build',
      );
    this.#onPhase('images');
    const record = this.#record;
    const prepared = await during('build', () => images.prepare(this.#task));
    record.images.task = { name: prepared.image.name, digest: prepared.image.digest };
    record.images.grader = prepared.graders[0] ?? null;
    this.#workdir = workdirOf(this.#task, prepared.image);
    this.#onPhase('start');
    const sandbox = await record.span('environment_setup', () =>
      during('start', () => startBox(this.#context, this.#box(prepared))),
    );
    try {
      await this.#allSteps(sandbox, prepared);
    } finally {
      record.notes.push(...this.#budget.notes);
      // Should the node be away, the lease or the time limit ends it.
      if (!this.#ended) await sandbox.kill().catch(() => {});
    }
  }

  async #allSteps(sandbox: Sandbox, prepared: PreparedTask): Promise<void> {
    const grades: (Grade | null)[] = [];
    for (const [index, step] of this.#steps.entries()) {
      if (index > 0) await during('run', () => nextStep(this.#context, sandbox, step, this.#workdir));
      const grade = await this.#step(sandbox, prepared, index);
      grades.push(grade);
      if (fallsShort(step.minReward, grade?.rewards ?? null)) break;
    }
    if (this.#context.job.verifier.disable) return;
    const strategy = this.#task.config.multiStepRewardStrategy;
    this.#record.rewards = combineRewards(
      strategy,
      grades.map((grade) => grade?.rewards ?? null),
    );
    this.#ungraded = grades.some((grade) => grade?.rewards === null);
  }

  async #step(sandbox: Sandbox, prepared: PreparedTask, index: number): Promise<Grade | null> {
    const record = this.#record;
    const step = this.#steps[index]!;
    const dir = step.name === null ? record.dir : join(record.dir, 'steps', step.name);
    if (step.name !== null)
      for (const name of ['agent', 'verifier', 'artifacts']) mkdirSync(join(dir, name), { recursive: true });
    const failureBefore = record.agentFailure;
    record.agentFailure = null;
    await this.#agent(sandbox, step, dir);
    this.#onPhase('collect');
    const unverified = this.#context.job.verifier.disable;
    const collects = this.#collects(step);
    // Else while the sandbox is frozen to be graded.
    if (collects || unverified || prepared.separate[index]) await this.#treatment(sandbox);
    if (collects)
      await during('run', () => collectLogs(sandbox, dir, step.artifacts, this.#budget, this.#context.signal));
    const grade = unverified ? null : await this.#grade(sandbox, prepared, index, dir);
    const failure = record.agentFailure;
    if (step.name !== null) this.#keepStep(step.name, grade, failure);
    record.agentFailure = failureBefore ?? failure;
    return grade;
  }

  #collects({ artifacts }: TrialStep): boolean {
    return this.#context.agent.writesLogs || artifacts.length > 0;
  }

  #box(prepared: PreparedTask): BoxSpec {
    return {
      task: this.#task,
      step: this.#steps[0]!,
      image: prepared.image.name,
      labels: this.#labels,
      workdir: this.#workdir,
    };
  }

  /** How the machine treated the agent so far: before the verifier's work is counted in. */
  async #treatment(sandbox: Sandbox): Promise<void> {
    const record = this.#record;
    const host = this.#context.host.between(record.startedAt.getTime(), Date.now());
    const stats = await sandbox.stats().catch(() => null);
    if (!host || !stats) return;
    const { memoryMiB } = sandbox.info.limits;
    const facts = treatment(host.before, host.after, stats, { memoryMiB });
    record.treatment = facts;
    record.suspectReasons = facts.reasons;
  }

  async #agent(sandbox: Sandbox, step: TrialStep, dir: string): Promise<void> {
    const { agent, job, signal, hostEnv, connection } = this.#context;
    const record = this.#record;
    this.#onPhase('agent');
    const started = performance.now();
    const done = await record.span('agent_execution', () =>
      during('run', () =>
        agent.run({
          sandbox,
          step,
          workdir: this.#workdir,
          user: step.agent.user ?? undefined,
          env: {
            ...agentVariables(this.#task),
            ...modelEnv(job),
            ...resolveEnv(job.agents[0]!.env, hostEnv, '--ae'),
          },
          timeoutMs: agentTimeoutMs(step, job),
          solutionEnv: resolveEnv(this.#task.config.solution.env, hostEnv, 'solution.env'),
          logDir: join(dir, 'agent'),
          connection,
          signal,
        }),
      ),
    );
    // The command's own time where it is known: what the calls around it cost is overhead.
    record.agentMs += done.result?.duration_ms ?? (agent.info.name === 'nop' ? 0 : performance.now() - started);
    record.agentResult = done.result;
    record.agentFailure = done.failure;
    record.notes.push(...done.notes);
    if (done.failure) record.log(done.failure.message);
  }

  async #grade(sandbox: Sandbox, prepared: PreparedTask, index: number, dir: string): Promise<Grade> {
    const { job } = this.#context;
    const record = this.#record;
    const step = this.#steps[index]!;
    const part = stepPart(step, index);
    this.#onPhase('verify');
    const options = {
      task: this.#task,
      step,
      grader: prepared.graders[index]!,
      workdir: this.#workdir,
      keep: trialImage(job.vivarium.id, this.#trialName, part),
      keepSplit: trialImage(job.vivarium.id, this.#trialName, `${part}-graded`),
      keepState: job.vivarium.keepState,
      labels: this.#labels,
      last: index === this.#steps.length - 1,
      dir,
      budget: this.#budget,
      pinned: prepared.image,
      onAgentDone: async () => (this.#collects(step) ? undefined : this.#treatment(sandbox)),
      onEnding: this.#onEnding,
    };
    const separate = prepared.separate[index];
    const grade = await record.span('verifier', () =>
      during('verify', () =>
        separate
          ? gradeSeparately(this.#context, sandbox, separate, options)
          : gradeState(this.#context, sandbox, options),
      ),
    );
    this.#ended = options.last;
    record.testMs += grade.testMs;
    record.verification = grade.details;
    record.images.state = grade.state;
    record.images.graded = grade.graded;
    if (grade.details.rewardError !== null) record.log(`verifier: ${grade.details.rewardError}`);
    return grade;
  }

  #keepStep(name: string, grade: Grade | null, failure: TrialRecord['agentFailure']): void {
    const record = this.#record;
    record.steps.push({
      step_name: name,
      agent_result: record.agentResult,
      verifier_result: grade?.rewards ? { rewards: grade.rewards } : null,
      exception_info: failure && {
        exception_type: failure.type,
        exception_message: failure.message,
        exception_traceback: '',
        occurred_at: new Date().toISOString(),
      },
      agent_execution: record.spanOf('agent_execution'),
      verifier: record.spanOf('verifier'),
      vivarium: grade?.details ?? null,
    });
  }
}

async function during<T>(phase: Parameters<typeof stopFor>[1], act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw stopFor(error, phase);
  }
}
