import { VivError } from '@vivarium/protocol';
import type { Box } from './box.ts';
import { cellSpec } from './cell-spec.ts';
import { openBoxCell, watchEnd } from './connect.ts';
import { stopCell } from './end.ts';
import { layersAgain } from './layers.ts';
import { mountAgain } from './mounts.ts';
import { checkBoot } from './room.ts';

/** What its commands are told that end with its memory. */
const WHY = 'its sandbox was paused without its memory';
/** How long they may take to be gone before what is known of them is written down. */
const EXECS_END_MS = 15_000;

/**
 * Ends all that runs in it and keeps its files. Written down before it begins: whatever happens from then on, also a crash of ours, leads to
 * a sandbox that is paused without memory. Called with the sandbox running, paused, or left `pausing` by a former try that failed.
 */
export async function coolBox(box: Box): Promise<void> {
  const ran = box.row.state === 'running';
  if (!isCooling(box)) box.step('pausing', { cold: true });
  if (ran) await endExecs(box);
  if (!isCooling(box)) return;
  abandonExecs(box);
  stopCell(box, new VivError('sandbox_paused', `sandbox ${box.id} was paused without its memory`));
  await box.handle!.stop();
  if (isCooling(box)) box.step('paused');
}

/** The rest of it after a restart of ours. A new cell that did not count as running yet is stopped too. */
export function finishCooling(box: Box): void {
  abandonExecs(box);
  if (box.row.state !== 'paused') box.step('paused');
}

/**
 * Boots a new cell over the files of a sandbox that was paused without memory: same id, variables, token, endpoints and mounts. When that
 * fails it stays paused, its files as they were.
 */
export async function bootAgain(box: Box): Promise<void> {
  const { context } = box;
  checkBoot(context);
  box.step('resuming');
  try {
    await context.createGate.run(() => boot(box));
    if (!isResuming(box)) return;
    box.step('running', { record: box.handle!.record, cold: false, expiresAt: box.expiryAfterPause() });
  } catch (error) {
    if (isResuming(box)) await backToSleep(box);
    throw error;
  }
  watchEnd(box);
}

async function boot(box: Box): Promise<void> {
  if (!isResuming(box)) return;
  const { context, row } = box;
  const driver = context.drivers.get(row.kind)!;
  const { root, all } = await layersAgain(box);
  const spec = cellSpec(context, row, root);
  await driver.prepare(spec);
  box.handle = await driver.restart(row.record!, spec);
  await openBoxCell(box);
  await mountAgain(box, all);
}

async function backToSleep(box: Box): Promise<void> {
  stopCell(box);
  // A cell that can't be stopped now is stopped before the next one starts.
  await box.handle!.stop().catch((err) => box.context.log.error({ err, sandbox: box.id }, 'stopping a cell failed'));
  if (isResuming(box)) box.step('paused');
}

/** Of those that run, the output and exit are taken; none can be started any more. */
async function endExecs(box: Box): Promise<void> {
  const ending = [...box.execs.values()].map(async (exec) => {
    await exec.started.catch(() => {});
    await exec.end('canceled', WHY);
  });
  let cancel = () => {};
  const timeUp = new Promise<void>((resolve) => {
    cancel = box.context.clock.after(EXECS_END_MS, resolve);
  });
  await Promise.race([Promise.allSettled(ending), timeUp]);
  cancel();
}

function abandonExecs(box: Box): void {
  for (const exec of [...box.execs.values()]) exec.abandon('canceled', WHY);
}

function isCooling({ row }: Box): boolean {
  return row.state === 'pausing' && row.cold === true;
}

function isResuming({ row }: Box): boolean {
  return row.state === 'resuming';
}
