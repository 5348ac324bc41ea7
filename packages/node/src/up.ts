import { VivError } from '@vivarium/protocol';
import { checkedDomain } from '@vivarium/protocol/domain.ts';
import { certificateFault, certificateFiles, readCertificate } from './certificate.ts';
import { stopHolder } from './holder-stop.ts';
import { parseListen } from './listen-address.ts';
import { requireMachine, requireStateDir } from './machine.ts';
import { type NodePaths, nodePaths } from './paths.ts';
import { liveRecord, type ProcessRecord } from './process-record.ts';
import { runningServer, startServer } from './server-process.ts';
import { serverStarted } from './starting.ts';

type RunningServer = { url: string; record: ProcessRecord };

export type UpOptions = {
  stateDir: string;
  listen: string;
  domain: string | undefined;
  detach: boolean;
  /** Files of a certificate and its key: HTTPS beside HTTP, or at an address of its own. */
  tlsCert?: string | undefined;
  tlsKey?: string | undefined;
  tlsListen?: string | undefined;
};

/**
 * Starts the node, or says that it is up already. With `detach` it returns when the server answers; else it stays in the
 * foreground until the server stops, and returns its exit code. Sandboxes live on in both cases.
 */
export async function up(options: UpOptions, say: (line: string) => void): Promise<number> {
  parseListen(options.listen);
  if (options.domain !== undefined) checkedDomain(options.domain);
  const tls = tlsArguments(options);
  requireMachine();
  const paths = nodePaths(options.stateDir);
  requireStateDir(paths);
  await serverStarted(paths);
  const running = await runningServer(paths);
  if (running !== undefined) return alreadyUp(running, say);
  const hadHolder = liveRecord(paths.holderRecord) !== undefined;
  const args = ['--state-dir', paths.stateDir, '--listen', options.listen];
  if (options.domain !== undefined) args.push('--domain', options.domain);
  args.push(...tls);
  args.push(options.detach ? '--detached' : '--log-stderr');
  let server: Awaited<ReturnType<typeof startServer>>;
  try {
    server = await startServer(paths, args, !options.detach);
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

/** For the server process. Throws for a certificate that no client would take: whoever starts the node is there to see it. */
function tlsArguments({ tlsCert, tlsKey, tlsListen, domain }: UpOptions): string[] {
  const files = certificateFiles(tlsCert, tlsKey);
  if (!files) {
    if (tlsListen === undefined) return [];
    throw new VivError('invalid_argument', '--tls-listen needs --tls-cert and --tls-key');
  }
  if (tlsListen !== undefined) parseListen(tlsListen, '--tls-listen');
  const fault = certificateFault(readCertificate(files).cert, domain, Date.now());
  if (fault !== undefined)
    throw new VivError('precondition_failed', `clients will not take the certificate ${files.cert}: ${fault}`, {
      hint: 'docs/tls.md tells how to make one for a domain and all names below it.',
    });
  const listen = tlsListen === undefined ? [] : ['--tls-listen', tlsListen];
  return ['--tls-cert', files.cert, '--tls-key', files.key, ...listen];
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
