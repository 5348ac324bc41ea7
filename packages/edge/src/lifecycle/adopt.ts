import { VivError } from '@vivarium/protocol';
import type { Driver } from '../drivers/driver.ts';
import { replayExecs } from '../exec/resume-execs.ts';
import { Journal } from '../journal/journal.ts';
import type { SandboxRow } from '../registry/sandbox-row.ts';
import { Box, sandboxDir } from './box.ts';
import { finishCooling } from './cold.ts';
import { openBoxCell, watchEnd } from './connect.ts';
import type { EdgeContext } from './context.ts';
import { closeBox, endBox, finishEnding } from './end.ts';
import { releaseKey } from './release-key.ts';
import { armTimeouts } from './timeouts.ts';

const ADOPT_AT_ONCE = 32;

/** After a restart: takes over every live cell, finishes what was half done, and has the drivers sweep what nobody knows. */
export async function adoptAll(context: EdgeContext): Promise<{ adopted: number; lost: number }> {
  const rows = context.registry.sandboxes.live();
  const counts = { adopted: 0, lost: 0 };
  const queue = [...rows];
  const worker = async () => {
    for (let row = queue.shift(); row; row = queue.shift()) {
      const alive = await adoptOne(context, row);
      counts[alive ? 'adopted' : 'lost'] += 1;
      context.metrics.adopted.inc({ result: alive ? 'adopted' : 'lost' });
    }
  };
  await Promise.all(Array.from({ length: ADOPT_AT_ONCE }, worker));
  for (const driver of context.drivers.values()) await sweepLeftovers(context, driver);
  return counts;
}

/** What can't be removed now is tried again at the next start: it must not keep the node from serving. */
async function sweepLeftovers({ boxes, log }: EdgeContext, driver: Driver): Promise<void> {
  const { kind } = driver;
  try {
    const swept = await driver.sweep(new Set(boxes.keys()));
    if (swept.length > 0) log.info({ kind, swept: swept.length }, 'leftovers of dead sandboxes were removed');
  } catch (err) {
    log.error({ err, kind }, 'leftovers of a dead sandbox could not be removed');
  }
}

async function adoptOne(context: EdgeContext, row: SandboxRow): Promise<boolean> {
  const box = loadBox(context, row);
  try {
    if (row.state === 'creating' || !row.record) return forgetCreate(box);
    await takeOver(box);
    // The process that ran the build is gone.
    if (row.builder) await endBox(box, 'killed', 'the build was cut short');
    return true;
  } catch (thrown) {
    const error = VivError.from(thrown);
    context.log.warn({ err: error, sandbox: row.id }, 'a sandbox could not be adopted');
    await giveUp(box, error);
    return false;
  }
}

/** The box as its row and journal tell; commands without an end record wait to be resumed. */
function loadBox(context: EdgeContext, row: SandboxRow): Box {
  const replay = replayExecs();
  const journal = Journal.load(sandboxDir(context.stateDir, row.id), context.clock, context.files, replay.take);
  const box = new Box(context, row, journal);
  replay.into(box);
  context.boxes.set(row.id, box);
  return box;
}

async function takeOver(box: Box): Promise<void> {
  const { context, row } = box;
  if (row.cold) return takeOverCold(box);
  box.releaseLayers = context.images.reacquire(row.layers).release;
  box.handle = await context.drivers.get(row.kind)!.adopt(row.record!);
  if (row.state === 'ending') return void (await finishEnding(box));
  if (row.state === 'paused' || row.state === 'pausing') return void (await takeOverFrozen(box));
  // Also one that runs may be frozen: it was being forked or made a snapshot of.
  await box.handle.resume();
  await openBoxCell(box);
  if (row.state === 'resuming') box.step('running');
  watchEnd(box);
  armTimeouts(box);
}

/** It has no cell, or shall have none: its pause without memory is finished, a resume that was under way is taken back. */
async function takeOverCold(box: Box): Promise<void> {
  const { context, row } = box;
  box.releaseLayers = (await context.images.acquireLayers(row.layers)).release;
  box.handle = await context.drivers.get(row.kind)!.adoptStopped(row.record!);
  if (row.state === 'ending') return void (await finishEnding(box));
  finishCooling(box);
  armTimeouts(box);
}

/** A frozen guest answers nobody: its stream is opened when it is resumed. */
async function takeOverFrozen(box: Box): Promise<void> {
  await box.handle!.pause();
  if (box.row.state === 'pausing') box.step('paused');
  watchEnd(box);
  armTimeouts(box);
}

/** The process died while making it: the driver sweeps what there was, and its idempotency key may be used again. */
function forgetCreate(box: Box): false {
  Object.assign(box.row, {
    endReason: 'create_failed',
    error: 'the node restarted while it was being created',
    errorCode: 'connection_lost',
  });
  releaseKey(box.context, box.id);
  closeBox(box, box.row.state === 'ending' ? 'ended' : 'failed');
  return false;
}

async function giveUp(box: Box, error: VivError): Promise<void> {
  if (box.row.state === 'ending') await finishEnding(box).catch(() => {});
  else await endBox(box, 'lost', error.message).catch(() => {});
}
