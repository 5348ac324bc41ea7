import { readFileSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { NodePaths } from './paths.ts';
import { liveRecord } from './process-record.ts';

const STEP_MS = 50;
const WAIT_MS = 120_000;

/** Waits while a server starts (it adopts what runs), however that ends. */
export async function serverStarted(paths: NodePaths): Promise<void> {
  for (let waited = 0; waited < WAIT_MS && isStarting(paths); waited += STEP_MS) await delay(STEP_MS);
}

/** It has the lock before it can say so in a record: loading takes seconds on a slow machine. */
function isStarting(paths: NodePaths): boolean {
  if (liveRecord(paths.startingRecord)) return true;
  return liveRecord(paths.serverRecord) === undefined && isServer(lockHolder(paths.lock));
}

/** The process that has a flock(2) on the file, as /proc/locks tells (proc_locks(5)); undefined when none has. */
export function lockHolder(file: string): number | undefined {
  const inode = statSync(file, { throwIfNoEntry: false })?.ino;
  for (const line of readFileSync('/proc/locks', 'utf8').split('\n')) {
    const found = /^\d+: FLOCK\s+ADVISORY\s+WRITE\s+(\d+)\s+[0-9a-f]+:[0-9a-f]+:(\d+)\s/.exec(line);
    if (found && Number(found[2]) === inode) return Number(found[1]);
  }
  return undefined;
}

function isServer(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('/node/src/server.ts\0');
  } catch {
    return false;
  }
}
