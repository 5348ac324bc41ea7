import type { Image } from '@vivarium/protocol/image.ts';
import type { PackReport } from '@vivarium/protocol/pack.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { idempotencyKey } from '../retry.ts';
import type { Sandbox } from '../sandbox.ts';
import { blackBoxSplit, checkBlackBox } from './black-box.ts';
import { type Bench, type Graded, gradeFresh, waited } from './grade.ts';
import { verifyInPlace } from './in-place.ts';
import { LOADER_CACHE } from './loader-cache.ts';
import { CLOSED, PROTECTED, programDirectories, RESTORED } from './protection.ts';
import type { RegradeRequest, Verification, VerifyRequest } from './request.ts';
import { type Survey, surveyChanges } from './survey.ts';

/** While its state is taken no time to live ends the agent's sandbox. */
const PACK_TTL_S = 3600;

/** Grades what an agent left in its sandbox: docs/verification.md. */
export async function verifySandbox(bench: Bench, sandbox: Sandbox, request: VerifyRequest): Promise<Verification> {
  const began = performance.now();
  const pinned = await pinnedImage(bench, sandbox, request);
  const workspace = workspaceOf(request, pinned);
  const resolved = { ...request, workspace, agentUser: request.agentUser ?? pinned.config.user };
  if (request.mode === 'in_place') return verifyInPlace(bench, sandbox, pinned, resolved);
  if (request.isolation === 'black_box') checkBlackBox(resolved);
  const taken = await takeState(bench, sandbox, resolved, programDirectories(pinned.config.env));
  const endings = [taken.left];
  try {
    const packMs = performance.now() - began;
    const { limits, lease } = sandbox.info;
    const { loaderCache } = taken.survey;
    const state = { image: taken.split.name, loaderCache, limits, lease: lease ?? undefined };
    const onEnding = (rest: Promise<void>) => void endings.push(rest);
    const graded = await gradeFresh(bench, state, { ...resolved, onEnding }).catch((error) => {
      throw asPruned(error, taken.split.name);
    });
    return verification(graded, {
      request: resolved,
      pinned,
      survey: taken.survey,
      leftOut: taken.report.split?.leftOut ?? [],
      leftOutEntries: taken.report.split?.leftOutEntries ?? 0,
      state: request.keep === undefined ? null : kept(taken.report.image),
      split: request.keepSplit === undefined ? null : kept(taken.split),
      timings: { packMs, totalMs: performance.now() - began },
    });
  } finally {
    // Images go when nothing of them lives any more.
    await waited(
      Promise.all(endings).then(() => taken.dispose()),
      request.onEnding,
    );
  }
}

/**
 * Its image never changes, so what is known of the sandbox already is asked about while it is looked at anew: does it run? Where it ends
 * afterwards, no matter.
 */
async function pinnedImage(
  bench: Bench,
  sandbox: Sandbox,
  { pinned, mode, afterwards }: VerifyRequest,
): Promise<Image> {
  const known = sandbox.known?.image;
  if (known === undefined) return bench.images.get((await sandbox.refresh()).info.image);
  const matters = mode === 'in_place' || afterwards !== 'end';
  const image = pinned?.name === known ? pinned : bench.images.get(known);
  return (await Promise.all([image, matters ? sandbox.refresh() : null]))[0];
}

/** Grades a state that an earlier verification kept; the agent does not run. */
export async function regrade(bench: Bench, request: RegradeRequest): Promise<Verification> {
  const began = performance.now();
  const image = await bench.images.get(request.image);
  const parent = image.parent === null ? image : await bench.images.get(image.parent).catch(() => null);
  const pinned = parent ?? { name: image.parent!, digest: image.lineage?.parent?.digest ?? '' };
  const workspace = workspaceOf(request, image);
  const resolved = { ...request, workspace, agentUser: request.agentUser ?? image.config.user };
  if (request.isolation === 'black_box') checkBlackBox(resolved);
  const state = {
    image: image.name,
    loaderCache: request.loaderCache ?? true,
    limits: request.limits,
    lease: undefined,
  };
  const graded = await gradeFresh(bench, state, resolved);
  return verification(graded, {
    request: resolved,
    pinned,
    survey: null,
    leftOut: [],
    leftOutEntries: 0,
    state: null,
    split: kept(image),
    timings: { packMs: 0, totalMs: performance.now() - began },
  });
}

/** `left`: the agent's sandbox runs, waits or has ended, as it should afterwards. */
type Taken = { report: PackReport; split: Image; survey: Survey; left: Promise<void>; dispose(): Promise<void> };

/** Freezes the sandbox, so that none of its processes runs again before its state is an image, and lists what it changed. */
async function takeState(
  bench: Bench,
  sandbox: Sandbox,
  request: VerifyRequest & { workspace: string[] },
  programs: string[],
): Promise<Taken> {
  const ran = sandbox.state !== 'paused';
  await sandbox.pause({ expires: true });
  const token = idempotencyKey()
    .replace(/[^a-z0-9]/g, '')
    .slice(0, 24);
  const names = {
    whole: request.keep ?? `cache/state-${token}@1`,
    split: request.keepSplit ?? `cache/split-${token}@1`,
  };
  const temporary = [
    ...(request.keepSplit === undefined ? [names.split] : []),
    ...(request.keep === undefined ? [names.whole] : []),
  ];
  const dispose = async () => {
    for (const name of temporary) await bench.images.remove(name).catch(() => {});
  };
  try {
    await holdTtl(sandbox);
    const [report, survey] = await Promise.all([
      sandbox.pack({
        image: names.whole,
        scrub: 'none',
        times: 'kept',
        split: { image: names.split, ...splitOf(request, programs) },
      }),
      surveyChanges(sandbox, request.workspace, request.onChange),
      request.onFrozen?.(sandbox),
    ]);
    if (report.split === null) throw new VivError('internal', 'the pack made no second image');
    const left = leave(sandbox, ran, request.afterwards ?? 'resume');
    return { report, split: report.split.image, survey, left, dispose };
  } catch (error) {
    await Promise.all([leave(sandbox, ran, request.afterwards ?? 'resume'), dispose()]);
    throw error;
  }
}

/** What of the agent's changes is carried over. */
function splitOf({ isolation, protect = [], workspace }: VerifyRequest & { workspace: string[] }, programs: string[]) {
  const protectAll = [...PROTECTED, ...protect];
  if (isolation === 'black_box') return { protect: protectAll, ...blackBoxSplit(workspace) };
  const restore = [...RESTORED, ...programs, LOADER_CACHE];
  return { protect: protectAll, restore, closed: [...CLOSED, LOADER_CACHE], except: workspace, programs };
}

async function holdTtl(sandbox: Sandbox): Promise<void> {
  const { expiresAt } = sandbox.info;
  if (expiresAt !== null && Date.parse(expiresAt) - Date.now() < PACK_TTL_S * 1000)
    await sandbox.update({ ttlS: PACK_TTL_S });
}

async function leave(sandbox: Sandbox, ran: boolean, afterwards: 'resume' | 'pause' | 'end'): Promise<void> {
  if (afterwards === 'end') await sandbox.kill().catch(() => {});
  else if (afterwards === 'resume' && ran) await sandbox.resume().catch(() => {});
}

export function verification(
  graded: Graded,
  facts: Pick<Verification, 'leftOut' | 'leftOutEntries' | 'state' | 'split'> & {
    request: VerifyRequest & Pick<RegradeRequest, 'loaderCache'>;
    pinned: { name: string; digest: string };
    survey: Survey | null;
    timings: { packMs: number; totalMs: number };
  },
): Verification {
  const { request, pinned, survey, timings, ...rest } = facts;
  const { createMs, runMs, rewards, rewardError, exec, stats } = graded;
  return {
    rewards,
    rewardError,
    exec,
    mode: request.mode ?? 'fresh',
    isolation: request.isolation ?? 'in_process',
    image: { name: pinned.name, digest: pinned.digest },
    ...rest,
    tampering: survey?.entries ?? [],
    tamperingCounts: survey?.counts ?? {},
    tamperingTruncated: survey?.truncated ?? false,
    loaderCache: survey?.loaderCache ?? request.loaderCache ?? true,
    network: 'none',
    timings: { ...timings, createMs, runMs },
    stats,
  };
}

function kept({ name, digest }: Image): { image: string; digest: string } {
  return { image: name, digest };
}

function workspaceOf({ workspace }: { workspace?: string[] }, { config }: Image): string[] {
  // A pattern names what is below the root, not the root.
  if (workspace) return workspace.map((pattern) => (/^\/+$/.test(pattern) ? '/**' : pattern));
  return config.cwd === undefined || config.cwd === '/' ? ['/root', '/home', '/workspace'] : [config.cwd];
}

/** Only the node's own housekeeping can have removed an image that was made a moment ago. */
function asPruned(error: unknown, image: string): unknown {
  const { code, message } = VivError.from(error);
  if (code !== 'image_not_found' || !message.includes(image)) return error;
  return new VivError('internal', `${image} was pruned before it could be graded`, { fault: 'infra', cause: error });
}
