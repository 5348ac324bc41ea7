import type { NodePaths } from './paths.ts';
import { gone, liveRecord, type ProcessRecord } from './process-record.ts';

const STOP_MS = 30_000;
const END_ALL_MS = 10 * 60_000;
const KILLED_MS = 10_000;
const SAY_EVERY_MS = 5000;

/** Stops the server if it runs; the sandboxes live on. One that does not stop in time is killed. */
export async function stopServer(paths: NodePaths): Promise<void> {
  const server = liveRecord(paths.serverRecord);
  if (server === undefined) return;
  process.kill(server.pid, 'SIGTERM');
  if (!(await gone(server, STOP_MS))) await killed(server);
}

/** Asks the server to end all its sandboxes and stop. True when it did; false when it was dead or had to be killed. */
export async function endByServer(paths: NodePaths, say: (line: string) => void): Promise<boolean> {
  const server = liveRecord(paths.serverRecord);
  if (server === undefined) return false;
  process.kill(server.pid, 'SIGUSR2');
  let said = 0;
  const stopped = await gone(server, END_ALL_MS, (waitedMs) => {
    if (waitedMs - said < SAY_EVERY_MS) return;
    said = waitedMs;
    say('viv: waiting for the sandboxes to end …');
  });
  if (stopped) return true;
  say(`viv: the server (pid ${server.pid}) does not stop, killing it`);
  await killed(server);
  return false;
}

async function killed(server: ProcessRecord): Promise<void> {
  process.kill(server.pid, 'SIGKILL');
  await gone(server, KILLED_MS);
}
