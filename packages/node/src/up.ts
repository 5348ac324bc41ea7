import { VivError } from '@vivarium/protocol';
import { stopHolder } from './holder-stop.ts';
import { parseListen } from './listen-address.ts';
import { requireMachine, requireStateDir } from './machine.ts';
import { ensureHolder } from './namespace.ts';
import { type NodePaths, nodePaths } from './paths.ts';
import { liveRecord, type ProcessRecord } from './process-record.ts';
import { runningServer, startServer } from './server-process.ts';
import { serverStarted } from './starting.ts';

type RunningServer = { url: string; record: ProcessRecord };

export type UpOptions = { stateDir: string; listen: string; domain: string | undefined; detach: boolean };

/**
 * Starts the node, or says that it is up already. With `detach` it returns when the server answers; else it stays in the
 * foreground until the server stops, and returns its exit code. Sandboxes live on in both cases.
 */
export async function up(options: UpOptions, say: (line: string) => void): Promise<number> {
  parseListen(options.listen);
  requireMachine();
  const paths = nodePaths(options.stateDir);
  requireStateDir(paths);
  await serverStarted(paths);
  const running = await runningServer(paths);
  if (running !== undefined) return alreadyUp(running, say);
  const hadHolder = liveRecord(paths.holderRecord) !== undefined;
  const holder = await ensureHolder(paths, false);
  const args = ['--state-dir', paths.stateDir, '--listen', options.listen];
  if (options.domain !== undefined) args.push('--domain', options.domain);
  args.push(options.detach ? '--detached' : '--log-stderr');
  let server: Awaited<ReturnType<typeof startServer>>;
  try {
    server = await startServer(paths, holder, args, !options.detach);
  } catch (error) {
    const other = await fasterServer(paths, error);
    if (other !== undefined) return alreadyUp(other, say);
    // A node that did not start leaves no process behind; one that was there before keeps what its sandboxes may need.
    if (!hadHolder) await stopHolder(paths);
    throw error;
  }
  say(`viv: up at ${server.url} · state ${paths.stateDir} · key ${paths.firstKey}`);
  if (options.detach) {
    server.child.unref();
    return 0;
  }
  say('viv: in the foreground; Ctrl-C stops the server, sandboxes live on (`viv down` ends them)');
  // A terminal sends Ctrl-C to the server too; from elsewhere only this process gets the signal.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => server.child.kill(signal));
  return await server.exited;
}

/** The server that another `viv up`, or the holder, started meanwhile, when that is why ours could not. */
async function fasterServer(paths: NodePaths, error: unknown): Promise<RunningServer | undefined> {
  if (!(error instanceof VivError) || error.code !== 'state_conflict') return undefined;
  await serverStarted(paths);
  return runningServer(paths);
}

function alreadyUp({ url, record }: RunningServer, say: (line: string) => void): number {
  say(`viv: already up at ${url} (pid ${record.pid})`);
  return 0;
}
