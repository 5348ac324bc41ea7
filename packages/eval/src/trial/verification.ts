import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Image, type Sandbox, type Stats, type Verification, type VerifyRequest, VivError } from '@vivarium/sdk';
import type { JobConfig } from '../job/config.ts';
import { resolveEnv } from '../task/env.ts';
import type { Task } from '../task/index.ts';
import { ChangesFile } from './changes-file.ts';
import type { TrialContext } from './context.ts';
import { awaitHealthy } from './healthcheck.ts';
import { downloadFiles, type LogBudget } from './log-files.ts';
import type { Rewards } from './outcome.ts';
import type { VerificationDetails } from './result.ts';
import { endedServices, startServices } from './services.ts';
import { limitsFor, verifierTimeoutMs } from './settings.ts';
import type { TrialStep } from './steps.ts';

/** What one step's verifier said, and where the states are that it was said of. */
export type Grade = {
  rewards: Rewards | null;
  details: VerificationDetails;
  state: string | null;
  graded: string | null;
  testMs: number;
  stats: Stats | null;
};

export type GradeOptions = {
  task: Task;
  step: TrialStep;
  grader: string | null;
  workdir: string;
  /** Names for the state as it is and for what is graded. */
  keep: string;
  keepSplit: string;
  /** False: neither is kept beyond the grade. */
  keepState: boolean;
  labels: Record<string, string>;
  /** No step follows: the agent's sandbox ends once its state is taken. */
  last: boolean;
  /** The trial's (or step's) directory on this machine. */
  dir: string;
  budget: LogBudget;
  /** The image of the agent's sandbox. */
  pinned: Image;
  /** Looks at the agent's sandbox when the agent's work is over and nothing of the verifier's is counted in. */
  onAgentDone: () => Promise<void>;
  /** Handed what goes on when the grade is there: sandboxes end. */
  onEnding: (rest: Promise<void>) => void;
};

export type KeepOption = 'keep' | 'keepSplit' | 'keepState' | 'pinned' | 'onAgentDone';

/** test.sh as it is run: its exit code says nothing, what it prints is kept. */
export const TEST_COMMAND = ['bash', '-c', '/tests/test.sh > /logs/verifier/test-stdout.txt 2>&1'];

/** The same in the agent's own sandbox: a first line `#!/bin/bash` would name the sandbox's shell instead of the grader's. */
const TEST_COMMAND_IN_PLACE = ['bash', '-c', 'bash /tests/test.sh > /logs/verifier/test-stdout.txt 2>&1'];

/** Less than what `verify` adds to the time to live of its sandbox. */
const SERVICES_WAIT_MAX_MS = 600_000;

/** In the agent's own sandbox, as task or job say. */
export function isInPlace(job: JobConfig, task: Task): boolean {
  return job.vivarium.inPlace || task.config.vivarium.verification === 'in_place';
}

/** Grades the state that the agent left: in a fresh sandbox, or in place where task or job say so. */
export async function gradeState(context: TrialContext, sandbox: Sandbox, options: GradeOptions): Promise<Grade> {
  const inPlace = isInPlace(context.job, options.task);
  if (inPlace && options.task.config.vivarium.services.length > 0)
    for (const gone of await endedServices(sandbox))
      options.budget.note(`a service had ended before the tests: ${gone}`);
  if (inPlace) await options.onAgentDone();
  const changes = new ChangesFile(options.dir);
  const verification = await sandbox.verify({
    ...gradeRequest(context, options),
    mode: inPlace ? 'in_place' : 'fresh',
    ...(inPlace && { command: TEST_COMMAND_IN_PLACE, beforeCommand: undefined }),
    ...(options.keepState && { keep: options.keep, keepSplit: options.keepSplit }),
    pinned: options.pinned,
    onFrozen: options.onAgentDone,
    onChange: (change) => changes.add(change),
    afterwards: options.last ? 'end' : 'resume',
  });
  const more = changes.write();
  if (more > 0) options.budget.note(`${more} more changed paths are not listed`);
  return toGrade(verification);
}

/** What grading needs of a job; no agent among it. */
export type GradeContext = Pick<TrialContext, 'job' | 'lease' | 'signal' | 'hostEnv'>;

/** What `verify` is asked, of a live sandbox and of a saved state alike. */
export function gradeRequest(context: GradeContext, options: Omit<GradeOptions, KeepOption | 'last'>): VerifyRequest {
  const { job, signal, lease } = context;
  const { task, step, grader, workdir, labels, dir, budget, onEnding } = options;
  const { environment } = task;
  const { isolation, protect, workspace, servicesInVerifier } = task.config.vivarium;
  const agentUser = step.agent.user;
  const user = step.verifier.user;
  return {
    isolation,
    ...(grader !== null && { grader }),
    command: TEST_COMMAND,
    cwd: workdir,
    env: verifierEnv(context, task, step),
    timeoutMs: verifierTimeoutMs(step, job),
    limits: limitsFor(environment.config, job),
    protect,
    workspace: workspace.length > 0 ? workspace : [workdir],
    labels: { ...labels, 'viv.role': 'verifier' },
    lease: lease.id,
    signal,
    ...(user !== null && { user }),
    ...(agentUser !== null && { agentUser }),
    ...(servicesInVerifier && { beforeCommand: (box) => serveVerifier(context, box, options) }),
    onSandbox: (box) => collectVerifierLogs(box, dir, budget),
    onEnding,
  };
}

/**
 * The task's services beside the tests. They run from the agent's state, so one that does not start is its doing: the tests begin all
 * the same, and grade that.
 */
async function serveVerifier(
  { job, hostEnv, signal }: GradeContext,
  box: Sandbox,
  { task, step, workdir, budget }: Omit<GradeOptions, KeepOption | 'last'>,
): Promise<void> {
  const env = resolveEnv(task.environment.config.env, hostEnv, 'environment.env');
  const { healthcheck } = step;
  const waited = AbortSignal.timeout(Math.min(verifierTimeoutMs(step, job), SERVICES_WAIT_MAX_MS));
  const options = { cwd: workdir, env, checked: healthcheck !== null, signal: AbortSignal.any([signal, waited]) };
  try {
    await startServices(box, task.config.vivarium.services, options, async (until) => {
      if (healthcheck) await awaitHealthy(box, healthcheck, { cwd: workdir, env, signal: until });
    });
  } catch (error) {
    signal.throwIfAborted();
    const { fault, message } = VivError.from(error);
    if (!waited.aborted && fault !== 'task') throw error;
    budget.note(
      `the verifier's services are not as they should be: ${waited.aborted ? 'they took too long' : message}`,
    );
  }
}

export function verifierEnv(
  context: Pick<TrialContext, 'job' | 'hostEnv'>,
  task: Task,
  step: TrialStep,
): Record<string, string> {
  return {
    ...resolveEnv(task.environment.config.env, context.hostEnv, 'environment.env'),
    ...resolveEnv(step.verifier.env, context.hostEnv, 'verifier.env'),
    ...resolveEnv(context.job.verifier.env, context.hostEnv, '--ve'),
  };
}

/** /logs/verifier to `verifier/`. */
export async function collectVerifierLogs(sandbox: Sandbox, dir: string, budget: LogBudget): Promise<void> {
  const target = join(dir, 'verifier');
  mkdirSync(target, { recursive: true });
  try {
    await downloadFiles(sandbox, '/logs/verifier', target, (path) => path, budget);
  } catch (error) {
    // The grade stands whatever became of its logs; a node that went away shows elsewhere.
    budget.note(`the verifier's logs could not be collected: ${VivError.from(error).message}`);
  }
}

export function toGrade(verification: Verification): Grade {
  const { rewards, rewardError, exec, mode, isolation, tampering, leftOut, loaderCache } = verification;
  const { timings, stats, state, split } = verification;
  const testMs = exec?.durationMs ?? 0;
  return {
    rewards,
    details: {
      mode,
      isolation,
      rewardError,
      // What it put there is never carried over, and the oracle's is ours.
      tampering: tampering.filter(({ path }) => !path.startsWith('/solution')).slice(0, 200),
      loaderCache,
      leftOut: leftOut.map(({ path }) => path).slice(0, 200),
      command: exec && { outcome: exec.outcome?.type ?? 'unknown', exitCode: exec.exitCode, durationMs: testMs },
      timings,
    },
    state: state?.image ?? null,
    graded: split?.image ?? null,
    testMs,
    stats,
  };
}
