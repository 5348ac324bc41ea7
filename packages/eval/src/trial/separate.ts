import { describe, type ExecResult, type Image, type Sandbox, VivError } from '@vivarium/sdk';
import { readRewards } from '@vivarium/sdk/verify/rewards.ts';
import { carryArtifacts } from './carry-artifacts.ts';
import type { TrialContext } from './context.ts';
import { FileTree } from './file-tree.ts';
import { limitsFor, ttlS, verifierTimeoutMs } from './settings.ts';
import {
  collectVerifierLogs,
  type Grade,
  type GradeContext,
  type GradeOptions,
  type KeepOption,
  TEST_COMMAND,
  verifierEnv,
} from './verification.ts';

/**
 * A verifier with an image of its own: it gets the declared artifacts and /logs/artifacts, at the paths they had, and
 * nothing else of the agent's. The agent's sandbox ends first.
 */
export async function gradeSeparately(
  context: TrialContext,
  sandbox: Sandbox,
  image: Image,
  options: GradeOptions,
): Promise<Grade> {
  const started = performance.now();
  await sandbox.pause({ expires: true });
  await sandbox.pack({ image: options.keep, scrub: 'none', times: 'kept' });
  await sandbox.resume();
  const packMs = performance.now() - started;
  const grade = await gradeArtifacts(context, sandbox, image, options);
  return {
    ...grade,
    state: options.keep,
    details: { ...grade.details, timings: { ...grade.details.timings, packMs } },
  };
}

/** The part after the state was kept: `from` ends once the artifacts have been carried over, unless a step follows. */
export async function gradeArtifacts(
  context: GradeContext,
  from: Sandbox,
  image: Image,
  options: Omit<GradeOptions, KeepOption>,
): Promise<Grade> {
  const started = performance.now();
  await using verifier = await createVerifier(context, image, options);
  await carryArtifacts(from, verifier, options.step.artifacts);
  if (options.last) await from.kill();
  return await runSeparateTests(context, verifier, options, { createMs: performance.now() - started });
}

async function createVerifier(
  context: GradeContext,
  image: Image,
  options: Omit<GradeOptions, KeepOption>,
): Promise<Sandbox> {
  const { lease, job, signal } = context;
  const { task, step, labels } = options;
  const tree = new FileTree();
  for (const name of ['agent', 'verifier', 'artifacts']) tree.addDirectory(`logs/${name}`, 0o777);
  const verifier = await lease.create(
    {
      image: image.name,
      ...(options.grader !== null && { overlay: [options.grader] }),
      labels: { ...labels, 'viv.role': 'verifier' },
      limits: limitsFor(step.separate!.config, job),
      ttlS: ttlS(task, job),
    },
    { signal },
  );
  await verifier.files.upload('/', tree.tar(), { user: 'root', signal });
  await makeRunnable(verifier, signal);
  return verifier;
}

/** COPY keeps modes, and many a test.sh is not executable where it comes from. One that is missing shows when it is run. */
async function makeRunnable(verifier: Sandbox, signal: AbortSignal): Promise<void> {
  try {
    await verifier.files.chmod('/tests/test.sh', 0o755, { user: 'root', signal });
  } catch (error) {
    if (!(error instanceof VivError && error.code === 'path_not_found')) throw error;
  }
}

async function runSeparateTests(
  context: GradeContext,
  verifier: Sandbox,
  options: Omit<GradeOptions, KeepOption>,
  timings: Record<string, number>,
): Promise<Grade> {
  const { task, step, dir, budget } = options;
  const started = performance.now();
  const environment = step.separate!.config;
  const done = await verifier.exec(TEST_COMMAND, {
    env: { ...environment.env, ...verifierEnv(context, task, step) },
    timeoutMs: verifierTimeoutMs(step, context.job),
    keepBytes: 65_536,
    label: 'verifier',
    signal: context.signal,
    ...(environment.workdir !== null && { cwd: environment.workdir }),
    ...(step.verifier.user !== null && { user: step.verifier.user }),
  });
  if (done.outcome.type === 'sandbox_lost') done.check();
  const { rewards, rewardError } = await rewardsOf(verifier, done);
  const stats = await verifier.stats();
  await collectVerifierLogs(verifier, dir, budget);
  return {
    rewards,
    details: {
      mode: 'separate',
      isolation: 'in_process',
      rewardError,
      tampering: [],
      leftOut: [],
      loaderCache: false,
      command: { outcome: done.outcome.type, exitCode: done.exitCode, durationMs: done.durationMs },
      timings: { ...timings, runMs: done.durationMs, totalMs: performance.now() - started },
    },
    state: null,
    graded: null,
    testMs: done.durationMs,
    stats,
  };
}

/** A verifier that did not come to its end has graded nothing, whatever it wrote. */
async function rewardsOf(verifier: Sandbox, done: ExecResult): ReturnType<typeof readRewards> {
  const { type } = done.outcome;
  if (type === 'timeout' || type === 'oom' || type === 'canceled')
    return { rewards: null, rewardError: `${type}: the verifier ${describe(done.outcome)}` };
  return readRewards(verifier.files);
}
