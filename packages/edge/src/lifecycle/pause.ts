import { type PauseRequestInput, VivError } from '@vivarium/protocol';
import type { Box } from './box.ts';
import { openBoxCell } from './connect.ts';

/** Freezes everything in it. Commands neither run nor time out; calls into it are `sandbox_paused`. */
export function pauseBox(box: Box, { memory = true, expires = false }: PauseRequestInput = {}): Promise<void> {
  if (!memory) throw new VivError('unsupported', 'pausing without memory is not there yet');
  return box.exclusive(async () => {
    if (box.row.state === 'paused') return;
    box.step('pausing');
    box.cell?.setPaused(true);
    try {
      await box.handle!.pause();
    } catch (error) {
      box.cell?.setPaused(false);
      if (isNow(box, 'pausing')) box.step('running');
      throw error;
    }
    if (!isNow(box, 'pausing')) return;
    for (const exec of box.execs.values()) exec.pauseTimer();
    box.step('paused', expires ? {} : { expiresAt: null });
  });
}

/** Thaws it. A sandbox whose clock had been stopped gets its full time to live again. */
export function resumeBox(box: Box): Promise<void> {
  return box.exclusive(async () => {
    if (box.row.state === 'running') return;
    box.step('resuming');
    try {
      await box.handle!.resume();
      box.cell?.setPaused(false);
      if (!box.cell) await openBoxCell(box);
    } catch (error) {
      if (isNow(box, 'resuming')) box.step('paused');
      throw error;
    }
    if (!isNow(box, 'resuming')) return;
    const { expiresAt, ttlS } = box.row;
    box.step('running', { expiresAt: expiresAt ?? box.context.clock.now() + ttlS * 1000 });
    for (const exec of box.execs.values()) exec.resumeTimer();
  });
}

/** Freezes it for the time of some work on its files, unless it is frozen anyway. Calls are not refused meanwhile: they wait. */
export function whileFrozen<T>(box: Box, work: () => Promise<T>): Promise<T> {
  return box.exclusive(async () => {
    const thaw = box.row.state === 'running';
    if (!thaw && box.row.state !== 'paused') box.requireCell();
    try {
      if (thaw) {
        box.cell?.setPaused(true);
        await box.handle!.pause();
      }
      return await work();
    } finally {
      if (thaw && box.row.state === 'running') await box.handle!.resume();
      if (thaw) box.cell?.setPaused(false);
    }
  });
}

/** It may have begun to end while we waited. */
function isNow(box: Box, state: string): boolean {
  return box.row.state === state;
}
