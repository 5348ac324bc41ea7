import { setTimeout as delay } from 'node:timers/promises';
import type { NodePaths } from './paths.ts';
import { liveRecord } from './process-record.ts';

const STEP_MS = 50;
const WAIT_MS = 120_000;

/** Waits while a server starts (it adopts what runs), however that ends. */
export async function serverStarted(paths: NodePaths): Promise<void> {
  for (let waited = 0; waited < WAIT_MS && liveRecord(paths.startingRecord); waited += STEP_MS) await delay(STEP_MS);
}
