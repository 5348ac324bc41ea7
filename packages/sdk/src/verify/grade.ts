import type { Exec } from '@vivarium/protocol/exec.ts';
import type { Limits, Stats } from '@vivarium/protocol/sandbox.ts';
import { defined } from '../exec-options.ts';
import type { Images } from '../images.ts';
import type { Sandbox } from '../sandbox.ts';
import type { CreateOptions } from '../sandboxes.ts';
import { closeToAgent } from './black-box.ts';
import { runGrader } from './grader-run.ts';
import { refreshLoaderCache } from './loader-cache.ts';
import { LOGS_IMAGE, withLogsImage } from './logs-image.ts';
import type { GradeRequest, Isolation } from './request.ts';
import type { Rewards } from './rewards.ts';

export const VERIFY_TIMEOUT_MS = 600_000;
/** Beyond the command's time limit, for all that comes before and after it: no time to live ends a grade. */
const MARGIN_S = 900;

/** What a grade is made with. */
export type Bench = { images: Images; create(options: CreateOptions): Promise<Sandbox> };

export type Graded = Rewards & { exec: Exec | null; stats: Stats | null; createMs: number; runMs: number };

export type State = {
  image: string;
  /** May the agent have made a new cache of the loader? */
  loaderCache: boolean;
  limits: Partial<Limits> | undefined;
  lease: string | undefined;
};

/** Runs the grader where the agent has never been: a new sandbox of the state's image, which ends with the call, or as `onEnding` hears. */
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
    await request.beforeCommand?.(sandbox);
    const createMs = performance.now() - began;
    let stats: Stats | null = null;
    const beside = async () => {
      [stats] = await Promise.all([sandbox.stats().catch(() => null), request.onSandbox?.(sandbox)]);
    };
    const { exec, rewards } = await runGrader(sandbox, request, { isolation, timeoutMs, env, beside });
    signal?.removeEventListener('abort', onAbort);
    return { ...rewards, exec, stats, createMs, runMs: performance.now() - began - createMs };
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  } finally {
    await waited(end().then(ignore, ignore), request.onEnding);
  }
}

/** Waits for the rest of the work, unless somebody else does. */
export async function waited(rest: Promise<void>, onEnding: GradeRequest['onEnding']): Promise<void> {
  if (onEnding) onEnding(rest);
  else await rest;
}

function ignore(): void {}

async function prepare(
  sandbox: Sandbox,
  state: State,
  request: GradeRequest & { workspace: string[] },
  isolation: Isolation,
): Promise<Record<string, string>> {
  if (isolation === 'black_box') return closeToAgent(sandbox, request);
  if (state.loaderCache) await refreshLoaderCache(sandbox);
  return {};
}
