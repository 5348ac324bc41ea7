import { VivError } from '@vivarium/protocol';
import type { CellSpec } from '../drivers/driver.ts';
import type { Box } from './box.ts';
import { connectBoxCell, watchEnd } from './connect.ts';
import { endBox, stopCell } from './end.ts';

/**
 * Gives a sandbox a new cell, as clean as its first. While that is under way nobody can start anything in it (`state_conflict`).
 * On an error the sandbox is ended.
 */
export function renewBox(box: Box, spec: CellSpec): Promise<void> {
  const renewing = box.exclusive(() => renew(box, spec));
  // A close of the edge waits for it.
  box.waking = renewing.catch(() => {});
  return renewing.finally(() => {
    box.waking = null;
  });
}

async function renew(box: Box, spec: CellSpec): Promise<void> {
  const { context, row } = box;
  box.requireCell();
  // In memory only: after a crash of ours what is written down is a cell that is gone, and so is the sandbox.
  row.cold = true;
  const conflict = new VivError('state_conflict', `sandbox ${box.id} is being cleaned`);
  for (const exec of [...box.execs.values()]) exec.abandon('canceled', 'its call is over');
  stopCell(box, conflict);
  try {
    box.handle = await context.drivers.get(row.kind)!.renew(box.handle!, spec);
    row.record = box.handle.record;
    await connectBoxCell(box);
    row.cold = false;
    context.registry.write(() => context.registry.sandboxes.update(row));
  } catch (thrown) {
    row.cold = false;
    const error = VivError.from(thrown);
    // It waits for us.
    void endBox(box, 'lost', error.message).catch(() => {});
    throw error;
  }
  watchEnd(box);
}
