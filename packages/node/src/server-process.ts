import { spawn } from 'node:child_process';
import { closeSync, fstatSync, mkdirSync, openSync, readlinkSync, truncateSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ErrorBody, VivError } from '@vivarium/protocol';
import { daemonEnv, ensureHolder, enterNamespace } from './namespace.ts';
import type { NodePaths } from './paths.ts';
import { gone, isLive, liveRecord, type ProcessRecord } from './process-record.ts';

const SERVER = join(import.meta.dirname, 'server.ts');
const START_MS = 120_000;
const HEALTH_MS = 2000;
/** A killed holder ends at once; on a busy machine that takes a while. */
const HOLDER_END_MS = 5000;
/** flock(1) ends with this when another process has the lock. A killed server's threads hold it for a moment longer than its main thread lives. */
const LOCKED = 75;
const LOCK_WAIT_S = 5;
/** Crash output (stderr of the server) is kept up to this size, then it starts anew. */
const CRASH_LOG_BYTES = 1024 * 1024;

export type Started = { status: 'ready'; url: string };

/**
 * --expose-gc: for core/passing-memory.ts. --initial-heap-size: a small heap's first limits would make V8 collect all of it again and
 * again while the first gibibytes pass; memory is only taken when used.
 */
const SERVER_FLAGS = [
  '--expose-gc',
  '--initial-heap-size=64',
  '--max-semi-space-size=4',
  '--disable-warning=ExperimentalWarning',
];

/**
 * Starts the server in the holder's namespace, under the lock of the state directory, and waits for its word on descriptor
 * 3: ready with its URL, or the error that stopped it. `args` are those of server-options.ts. The caller waits for `exited` or lets go of `child` (unref).
 * A holder that was being killed when it was looked at is replaced, once.
 */
export async function startServer(paths: NodePaths, args: string[], foreground: boolean) {
  const holder = await ensureHolder(paths, false);
  try {
    return await startIn(holder, paths, args, foreground);
  } catch (error) {
    if (hasNamespace(holder) || !(await gone(holder, HOLDER_END_MS))) throw error;
    return startIn(await ensureHolder(paths, false), paths, args, foreground);
  }
}

/** A process that is ending has none any more, before it is a zombie. */
function hasNamespace({ pid }: ProcessRecord): boolean {
  try {
    readlinkSync(`/proc/${pid}/ns/mnt`);
    return true;
  } catch {
    return false;
  }
}

async function startIn(holder: ProcessRecord, paths: NodePaths, args: string[], foreground: boolean) {
  mkdirSync(paths.logDir, { recursive: true, mode: 0o700 });
  const crashLog = openCrashLog(join(paths.logDir, 'crash.log'));
  const argv = [
    ...enterNamespace(holder),
    ...['flock', '--timeout', String(LOCK_WAIT_S), '--no-fork', '--conflict-exit-code', String(LOCKED), paths.lock],
    ...[process.execPath, ...SERVER_FLAGS, SERVER, ...args],
  ];
  const child = spawn(argv[0]!, argv.slice(1), {
    cwd: '/',
    detached: !foreground,
    env: daemonEnv(),
    stdio: ['ignore', foreground ? 'inherit' : crashLog, foreground ? 'inherit' : crashLog, 'pipe'],
  });
  closeSync(crashLog);
  const exited = new Promise<number>((resolve) => {
    child.once('error', () => resolve(127));
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  });
  const word = child.stdio[3] as NodeJS.ReadableStream & { destroy(): void };
  const started = await Promise.race([firstLine(word), delay(START_MS, undefined, { ref: false })]);
  word.destroy();
  if (started === undefined) {
    child.kill('SIGKILL');
    throw new VivError('internal', `the server did not start within ${START_MS / 1000} s`, {
      hint: `See ${paths.logDir}.`,
    });
  }
  if (started === '') throw await failure(paths, await exited);
  const message = JSON.parse(started) as Started | ErrorBody;
  if ('error' in message) throw VivError.fromBody(message);
  return { url: message.url, child, exited };
}

/** The node that is up already on this state directory and answers, else undefined. Waits for one that is just starting. */
export async function runningServer(paths: NodePaths): Promise<{ url: string; record: ProcessRecord } | undefined> {
  const record = liveRecord(paths.serverRecord);
  if (record?.url === undefined) return undefined;
  for (let tries = 0; tries < 10 && isLive(record); tries += 1) {
    if (await isHealthy(record.url)) return { url: record.url, record };
    await delay(200);
  }
  return undefined;
}

/** Does /healthz of the server answer, within 2 s? */
export async function isHealthy(url: string): Promise<boolean> {
  try {
    const response = await fetch(new URL('/healthz', url), { signal: AbortSignal.timeout(HEALTH_MS) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

async function failure(paths: NodePaths, code: number): Promise<VivError> {
  if (code !== LOCKED) {
    return new VivError('internal', `the server ended with exit code ${code} before it was ready`, {
      hint: `See ${join(paths.logDir, 'crash.log')} and server.log beside it.`,
    });
  }
  const live = liveRecord(paths.serverRecord);
  return new VivError(
    'state_conflict',
    `another node process has the state directory ${paths.stateDir}${live === undefined ? '' : ` (pid ${live.pid})`}`,
    { hint: 'It may be starting or stopping: try again in a few seconds, or use another --state-dir.' },
  );
}

/** The first line of the stream without its newline; '' when it ends before. */
async function firstLine(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += chunk.toString();
    const end = text.indexOf('\n');
    if (end >= 0) return text.slice(0, end);
  }
  return '';
}

function openCrashLog(path: string): number {
  const fd = openSync(path, 'a', 0o600);
  if (fstatSync(fd).size > CRASH_LOG_BYTES) truncateSync(path);
  return fd;
}
