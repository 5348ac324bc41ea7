import type { PauseRequestInput } from '@vivarium/protocol';
import type { Box } from './box.ts';
import { bootAgain, coolBox } from './cold.ts';
import { openBoxCell } from './connect.ts';

/**
 * Freezes everything in it: commands neither run nor time out. Without memory it ends everything instead and keeps the files. Calls into
 * it are `sandbox_paused`. Its clock stops, unless it is to go on.
 */
export function pauseBox(box: Box, { memory = true, expires = false }: PauseRequestInput = {}): Promise<void> {
  return box.exclusive(async () => {
    if (!memory && !isCold(box)) await coolBox(box);
    else if (!isNow(box, 'paused')) await freezeBox(box);
    if (isNow(box, 'paused') && !expires && box.row.expiresAt !== null) box.change({ expiresAt: null });
  });
}

/** Lets it run again. A sandbox whose clock had been stopped gets its full time to live again. */
export function resumeBox(box: Box): Promise<void> {
  return box.exclusive(async () => {
    if (box.row.state === 'running') return;
    if (box.row.cold) await bootAgain(box);
    else await thawBox(box);
  });
}

/** Freezes it for the time of some work on its files, unless it is paused anyway. Calls are not refused meanwhile: they wait. */
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

async function freezeBox(box: Box): Promise<void> {
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
  box.step('paused');
}

async function thawBox(box: Box): Promise<void> {
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
  box.step('running', { expiresAt: box.expiryAfterPause() });
  for (const exec of box.execs.values()) exec.resumeTimer();
}

/** Has it been paused without memory already? One whose pausing failed half-way has not. */
function isCold({ row }: Box): boolean {
  return row.state === 'paused' && (row.cold ?? false);
}

/** It may have begun to end while we waited. */
function isNow(box: Box, state: string): boolean {
  return box.row.state === state;
}
