import type { NodePaths } from './paths.ts';
import { gone, liveRecord } from './process-record.ts';

const HOLDER_MS = 10_000;

/** Ends the holder of a node's mount namespace, if it lives; resolves when it is gone (SIGKILL after 10 s). */
export async function stopHolder(paths: NodePaths): Promise<void> {
  const holder = liveRecord(paths.holderRecord);
  if (holder === undefined) return;
  process.kill(holder.pid, 'SIGTERM');
  if (await gone(holder, HOLDER_MS)) return;
  process.kill(holder.pid, 'SIGKILL');
  await gone(holder, HOLDER_MS);
}
