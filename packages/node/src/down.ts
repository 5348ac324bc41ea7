import { existsSync, rmSync } from 'node:fs';
import { VivError } from '@vivarium/protocol';
import { removeControlGroups } from './control-groups.ts';
import { detachLoopDevices } from './loop-devices.ts';
import { requireMachine } from './machine.ts';
import { ensureHolder } from './namespace.ts';
import { type NodePaths, nodePaths } from './paths.ts';
import { gone, liveRecord, type ProcessRecord } from './process-record.ts';
import { startServer } from './server-process.ts';

export type DownOptions = { stateDir: string; purge: boolean };

const STOP_MS = 10 * 60_000;
const KILLED_MS = 10_000;
const SAY_EVERY_MS = 5000;

/** Ends every sandbox and every process of the node and gives back mounts, devices and control groups. With `purge` also its files. */
export async function down(options: DownOptions, say: (line: string) => void): Promise<void> {
  const paths = nodePaths(options.stateDir);
  if (!existsSync(paths.marker)) {
    say(`viv: no node at ${paths.stateDir}`);
    return;
  }
  if (process.geteuid?.() !== 0) throw new VivError('precondition_failed', 'not root', { hint: 'Run as root (sudo).' });
  const server = liveRecord(paths.serverRecord);
  const ended = server !== undefined && (await stopServer(server, say));
  if (!ended && existsSync(`${paths.stateDir}/edge.db`)) await endWithoutServer(paths);
  await stopHolder(paths);
  detachLoopDevices(paths.scratchImage);
  await removeControlGroups(paths);
  rmSync(paths.runDir, { recursive: true, force: true });
  if (options.purge) rmSync(paths.stateDir, { recursive: true, force: true });
  say(options.purge ? `viv: down, ${paths.stateDir} deleted` : 'viv: down');
}

/** True when the server ended its sandboxes and went; false when it had to be killed. */
async function stopServer(server: ProcessRecord, say: (line: string) => void): Promise<boolean> {
  process.kill(server.pid, 'SIGUSR2');
  let said = 0;
  const stopped = await gone(server, STOP_MS, (waitedMs) => {
    if (waitedMs - said < SAY_EVERY_MS) return;
    said = waitedMs;
    say('viv: waiting for the sandboxes to end …');
  });
  if (stopped) return true;
  say(`viv: the server (pid ${server.pid}) does not stop, killing it`);
  process.kill(server.pid, 'SIGKILL');
  await gone(server, KILLED_MS);
  return false;
}

/** The server is dead: its work is done by one that only ends what the registry knows. */
async function endWithoutServer(paths: NodePaths): Promise<void> {
  requireMachine();
  const holder = await ensureHolder(paths, false);
  const { exited } = await startServer(paths, holder, ['--state-dir', paths.stateDir, '--end-all'], false);
  await exited;
}

async function stopHolder(paths: NodePaths): Promise<void> {
  const holder = liveRecord(paths.holderRecord);
  if (holder === undefined) return;
  process.kill(holder.pid, 'SIGTERM');
  if (await gone(holder, KILLED_MS)) return;
  process.kill(holder.pid, 'SIGKILL');
  await gone(holder, KILLED_MS);
}
