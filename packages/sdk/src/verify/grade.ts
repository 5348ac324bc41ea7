import type { Exec } from '@vivarium/protocol/exec.ts';
import type { Limits, Stats } from '@vivarium/protocol/sandbox.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { defined } from '../exec-options.ts';
import { describe } from '../exec-result.ts';
import type { Images } from '../images.ts';
import type { Sandbox } from '../sandbox.ts';
import type { CreateOptions } from '../sandboxes.ts';
import { closeToAgent } from './black-box.ts';
import { LOGS_IMAGE, withLogsImage } from './logs-image.ts';
import type { GradeRequest, Isolation } from './request.ts';
import { type Rewards, readRewards } from './rewards.ts';
import { removeShadows } from './shadow.ts';

export const VERIFY_TIMEOUT_MS = 600_000;
/** Beyond the command's time limit, for all that comes before and after it: no time to live ends a grade. */
const MARGIN_S = 900;
const KEEP_BYTES = 4 * 1024 * 1024;

/** What a grade is made with. */
export type Bench = { images: Images; create(options: CreateOptions): Promise<Sandbox> };

export type Graded = Rewards & { exec: Exec | null; stats: Stats | null; createMs: number; runMs: number };

export type State = {
  image: string;
  /** Added programs that may hide the image's own. */
  shadows: readonly string[];
  limits: Partial<Limits> | undefined;
  lease: string | undefined;
};

/** Runs the grader where the agent has never been: a new sandbox of the state's image, which ends with the call. */
export async function gradeFresh(
  bench: Bench,
  state: State,
  request: GradeRequest & { workspace: string[] },
): Promise<Graded> {
  const began = performance.now();
  const { timeoutMs = VERIFY_TIMEOUT_MS, isolation = 'in_process', signal } = request;
  signal?.throwIfAborted();
  const options: CreateOptions = {
    image: state.image,
    overlay: [LOGS_IMAGE, ...(request.grader === undefined ? [] : [request.grader])],
    labels: { ...request.labels, 'viv.role': 'verifier' },
    ttlS: Math.ceil(timeoutMs / 1000) + MARGIN_S,
    ...defined({ limits: request.limits ?? state.limits, lease: request.lease ?? state.lease }),
  };
  const sandbox = await withLogsImage(bench.images, () => bench.create(options));
  const end = () => sandbox.kill();
  try {
    const onAbort = () => void end().catch(() => {});
    signal?.addEventListener('abort', onAbort, { once: true });
    const env = await prepare(sandbox, state, request, isolation);
    const createMs = performance.now() - began;
    const { exec, rewards } = await runGrader(sandbox, request, { isolation, timeoutMs, env });
    const stats = await sandbox.stats().catch(() => null);
    await request.onSandbox?.(sandbox);
    signal?.removeEventListener('abort', onAbort);
    return { ...rewards, exec, stats, createMs, runMs: performance.now() - began - createMs };
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  } finally {
    await end().catch(() => {});
  }
}

async function prepare(
  sandbox: Sandbox,
  state: State,
  request: GradeRequest & { workspace: string[] },
  isolation: Isolation,
): Promise<Record<string, string>> {
  if (isolation === 'black_box') return closeToAgent(sandbox, request);
  await removeShadows(sandbox.files, state.shadows);
  return {};
}

/** Runs the command and reads what it left. How it ended does not count, unless it could not come to its end. */
export async function runGrader(
  sandbox: Sandbox,
  request: GradeRequest,
  { isolation, timeoutMs, env }: { isolation: Isolation; timeoutMs: number; env: Record<string, string> },
): Promise<{ exec: Exec; rewards: Rewards }> {
  const blackBox = isolation === 'black_box';
  const { exec } = await sandbox.exec(request.command, {
    timeoutMs,
    keepBytes: KEEP_BYTES,
    label: 'verifier',
    env: { ...request.env, ...env },
    ...defined({
      user: request.user ?? (blackBox ? 'root' : undefined),
      cwd: request.cwd ?? (blackBox ? '/' : undefined),
      signal: request.signal,
    }),
  });
  return { exec, rewards: await rewardsOf(sandbox, exec, request) };
}

async function rewardsOf(sandbox: Sandbox, exec: Exec, { rewards }: GradeRequest): Promise<Rewards> {
  const { outcome } = exec;
  if (outcome === null || outcome.type === 'sandbox_lost')
    throw new VivError('sandbox_lost', `the sandbox ${sandbox.id}, in which the grade was made, was lost`);
  if (outcome.type === 'timeout' || outcome.type === 'oom' || outcome.type === 'canceled')
    return { rewards: null, rewardError: `${outcome.type}: the grader ${describe(outcome)}` };
  await sandbox.sweep();
  const read = await readRewards(sandbox.files, rewards);
  if (read.rewards !== null || !read.rewardError.startsWith('missing')) return read;
  return { rewards: null, rewardError: `${read.rewardError}; it ${describe(outcome)}${messageOf(exec)}` };
}

function messageOf({ message }: Exec): string {
  return message ? ` (${message})` : '';
}
