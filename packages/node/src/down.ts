import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { VivError } from '@vivarium/protocol';
import { removeControlGroups } from './control-groups.ts';
import { stopHolder } from './holder-stop.ts';
import { detachLoopDevices } from './loop-devices.ts';
import { requireMachine } from './machine.ts';
import { type NodePaths, nodePaths } from './paths.ts';
import { startServer } from './server-process.ts';
import { endByServer } from './server-stop.ts';
import { serverStarted } from './starting.ts';

export type DownOptions = { stateDir: string; purge: boolean };

/** Ends every sandbox and every process of the node and gives back mounts, devices and control groups. With `purge` also its files. */
export async function down(options: DownOptions, say: (line: string) => void): Promise<void> {
  const paths = nodePaths(options.stateDir);
  if (!existsSync(paths.marker)) {
    say(`viv: no node at ${paths.stateDir}`);
    return;
  }
  if (process.geteuid?.() !== 0) throw new VivError('precondition_failed', 'not root', { hint: 'Run as root (sudo).' });
  await endSandboxes(paths, say);
  await stopHolder(paths);
  const stuck = await removeControlGroups(paths);
  if (stuck.length > 0) {
    throw new VivError('internal', `something still lives in ${stuck.join(', ')}`, {
      hint: 'See which processes are in its cgroup.procs; then run `viv down` again.',
    });
  }
  for (const image of [paths.scratchImage, paths.volumesImage]) {
    if (await detachLoopDevices(image)) continue;
    throw new VivError('internal', `a loop device still has ${image}`, {
      hint: 'Something has it mounted: `losetup -j` shows the device; then run `viv down` again.',
    });
  }
  rmSync(paths.runDir, { recursive: true, force: true });
  if (options.purge) rmSync(paths.stateDir, { recursive: true, force: true });
  say(options.purge ? `viv: down, ${paths.stateDir} deleted` : 'viv: down');
}

/** By the server if there is one, else without it. The holder may be about to start one: it is asked then. */
async function endSandboxes(paths: NodePaths, say: (line: string) => void): Promise<void> {
  await serverStarted(paths);
  if (await endByServer(paths, say)) return;
  // From now on the holder starts none.
  rmSync(paths.serverRecord, { force: true });
  if (!existsSync(join(paths.stateDir, 'edge.db'))) return;
  try {
    await endWithoutServer(paths);
  } catch (error) {
    if (!(error instanceof VivError) || error.code !== 'state_conflict') throw error;
    await serverStarted(paths);
    if (!(await endByServer(paths, say))) throw error;
  }
}

/** The server is dead: its work is done by one that only ends what the registry knows. */
async function endWithoutServer(paths: NodePaths): Promise<void> {
  requireMachine();
  const { exited } = await startServer(paths, ['--state-dir', paths.stateDir, '--end-all'], false);
  const code = await exited;
  if (code === 0) return;
  throw new VivError('internal', `ending what a dead server left failed (exit code ${code})`, {
    hint: `See ${join(paths.logDir, 'server.log')}; then run \`viv down\` again.`,
  });
}
