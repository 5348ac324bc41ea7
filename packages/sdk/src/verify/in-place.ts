import type { Image } from '@vivarium/protocol/image.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import type { Command } from '../exec-options.ts';
import type { Images } from '../images.ts';
import type { Sandbox } from '../sandbox.ts';
import { AS_ROOT } from './as-root.ts';
import { type Bench, VERIFY_TIMEOUT_MS } from './grade.ts';
import { runGrader } from './grader-run.ts';
import { ownLookups } from './own-lookups.ts';
import type { Verification, VerifyRequest } from './request.ts';
import type { Rewards } from './rewards.ts';
import { surveyChanges } from './survey.ts';

/** Static programs, made into an image by the node from its own busybox and bash. */
const TOOLS_IMAGE = 'cache/grader-tools@2';
/** On the sandbox's own small memory file system: no link the agent made leads here. */
const TOOLS = '/dev/viv-grader';
/** Other locales may read tables and load converters of the sandbox (locale(7)). */
const OWN_LOCALE = { LC_ALL: 'C' };
const TESTS = '/tests';
/** Commands with this label are services: they run on. */
export const SERVICE_LABEL = 'service';
const MARGIN_S = 900;

/**
 * Grades in the agent's own sandbox, for tasks that need the services that run there. All other processes are ended first; the grader's
 * shell and tools are mounted read-only, need nothing of the sandbox's files, and are all that is in PATH.
 */
export async function verifyInPlace(
  bench: Bench,
  sandbox: Sandbox,
  pinned: Image,
  request: VerifyRequest & { workspace: string[] },
): Promise<Verification> {
  if (request.isolation === 'black_box')
    throw new VivError(
      'invalid_argument',
      'isolation black_box needs mode fresh: the agent’s own sandbox is no black box',
      {
        details: { field: 'isolation' },
      },
    );
  if (request.beforeCommand !== undefined)
    throw new VivError('invalid_argument', 'beforeCommand needs mode fresh: in place everything runs already', {
      details: { field: 'beforeCommand' },
    });
  const began = performance.now();
  const { timeoutMs = VERIFY_TIMEOUT_MS } = request;
  await holdTtl(sandbox, Math.ceil(timeoutMs / 1000) + MARGIN_S);
  if (sandbox.state === 'paused') await sandbox.resume();
  await sandbox.sweep({ keepLabels: [SERVICE_LABEL] });
  const survey = await surveyChanges(sandbox, request.workspace, request.onChange);
  const kept = await keepState(sandbox, request);
  const packMs = performance.now() - began;
  const mounted: string[] = [];
  let lookupsBack = async () => {};
  try {
    await makeLogs(sandbox);
    await makeDirectory(sandbox, '/etc');
    lookupsBack = await ownLookups(sandbox.files);
    await mountTools(bench.images, sandbox);
    mounted.push(TOOLS);
    if (request.grader !== undefined) {
      await makeDirectory(sandbox, TESTS);
      await sandbox.mount(request.grader, TESTS, { from: TESTS });
      mounted.push(TESTS);
    }
    const createMs = performance.now() - began - packMs;
    const graderRequest = { ...request, command: withTools(request.command), user: request.user ?? AS_ROOT.user };
    const run = {
      isolation: 'in_process',
      timeoutMs,
      env: { PATH: `${TOOLS}/bin`, ...OWN_LOCALE },
      keepLabels: [SERVICE_LABEL],
    } as const;
    const { exec, rewards } = await runGrader(sandbox, graderRequest, run).then(explained);
    const stats = await sandbox.stats().catch(() => null);
    await request.onSandbox?.(sandbox);
    const totalMs = performance.now() - began;
    return {
      ...rewards,
      exec,
      mode: 'in_place',
      isolation: 'in_process',
      image: { name: pinned.name, digest: pinned.digest },
      ...kept,
      leftOut: [],
      leftOutEntries: 0,
      tampering: survey.entries,
      tamperingCounts: survey.counts,
      tamperingTruncated: survey.truncated,
      loaderCache: false,
      network: 'none',
      timings: { packMs, createMs, runMs: totalMs - packMs - createMs, totalMs },
      stats,
    };
  } finally {
    await lookupsBack().catch(() => {});
    for (const at of mounted.reverse()) await sandbox.unmount(at).catch(() => {});
    if (request.afterwards === 'pause') await sandbox.pause({ expires: true }).catch(() => {});
    if (request.afterwards === 'end') await sandbox.kill().catch(() => {});
  }
}

async function holdTtl(sandbox: Sandbox, ttlS: number): Promise<void> {
  const { expiresAt } = sandbox.info;
  if (expiresAt !== null && Date.parse(expiresAt) - Date.now() < ttlS * 1000) await sandbox.update({ ttlS });
}

/** Nothing is split off where nothing is carried over: both images are the state the grader is about to see. */
async function keepState(sandbox: Sandbox, { keep, keepSplit }: VerifyRequest) {
  const pack = async (image: string | undefined) => {
    if (image === undefined) return null;
    const { image: made } = await sandbox.pack({ image, scrub: 'none', times: 'kept' });
    return { image: made.name, digest: made.digest };
  };
  return { state: await pack(keep), split: await pack(keepSplit) };
}

/** Whatever the agent left at these paths goes. */
async function makeLogs({ files }: Sandbox): Promise<void> {
  await replaceUnlessDirectory(files, '/logs');
  await files.remove('/logs/verifier', { ...AS_ROOT, recursive: true, missingOk: true });
  for (const name of ['agent', 'artifacts']) await replaceUnlessDirectory(files, `/logs/${name}`);
  await files.mkdir('/logs/verifier', { ...AS_ROOT, mode: 0o700 });
}

async function makeDirectory({ files }: Sandbox, path: string): Promise<void> {
  await replaceUnlessDirectory(files, path);
}

async function replaceUnlessDirectory(files: Sandbox['files'], path: string): Promise<void> {
  const entry = await files.stat(path, AS_ROOT).catch(() => null);
  if (entry?.type === 'dir') return;
  await files.remove(path, { ...AS_ROOT, recursive: true, missingOk: true });
  await files.mkdir(path, { ...AS_ROOT, mode: 0o755 });
}

async function mountTools(images: Images, sandbox: Sandbox): Promise<void> {
  await makeDirectory(sandbox, TOOLS);
  const mount = () => sandbox.mount(TOOLS_IMAGE, TOOLS);
  await mount().catch(async (error: unknown) => {
    if (!(error instanceof VivError && error.code === 'image_not_found')) throw error;
    const request = { name: TOOLS_IMAGE, source: { type: 'builtin', name: 'grader-tools' } } as const;
    await images.import(request).catch((thrown: unknown) => {
      if (!(thrown instanceof VivError && thrown.code === 'image_exists')) throw thrown;
    });
    await mount();
  });
}

/** Most tests were written for another place: what they lack here is told beside their silence. */
function explained<T extends { rewards: Rewards }>(done: T): T {
  const { rewards, rewardError } = done.rewards;
  if (rewards !== null || !rewardError.startsWith('missing')) return done;
  const told = `${rewardError}; in place ${TESTS} is read-only and only busybox and bash are in PATH`;
  return { ...done, rewards: { rewards: null, rewardError: told } };
}

/** A string is for the grader's own shell, not for the sandbox's /bin/sh. */
function withTools(command: Command): readonly string[] {
  return typeof command === 'string' ? [`${TOOLS}/bin/sh`, '-c', command] : command;
}
