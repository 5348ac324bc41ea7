import { randomBytes } from 'node:crypto';
import { type JobEvent, type JobResult, runJob, type StartedJob, summaryLines } from '@vivarium/eval';
import { Vivarium } from '@vivarium/sdk';
import { localConnection } from '@vivarium/sdk/node/local-connection.ts';
import type { ConnectionOptions } from './connection.ts';
import { note, print, printJson } from './console.ts';
import { JobScreen } from './job-screen.ts';
import { withServer } from './one.ts';
import { Exit } from './verb-program.ts';

export const JOBS_DIR = 'jobs';
const INTERRUPTED = 130;
/** A node that restarts is back within this. */
const RETRY_MS = 60_000;

type Output = ConnectionOptions & { quiet?: boolean; json?: boolean };

/** Runs a job that has been started or read, shows how it goes, and prints what came out. */
export async function runToEnd({ directory, tasks, warnings = [] }: StartedJob, flags: Output): Promise<void> {
  const screen = new JobScreen(flags.quiet ?? false);
  const stop = new AbortController();
  const interrupts = onInterrupt(stop, directory.path, (text) => screen.say(text));
  const { url, apiKey } = localConnection(flags);
  const viv = new Vivarium({ url, ...(apiKey !== undefined && { apiKey }), retryMs: RETRY_MS });
  try {
    // A person is waiting: a server that is not there is told at once, one that goes away later is waited for.
    await withServer(flags, (probe) => probe.node());
    for (const text of warnings) screen.take({ type: 'warning', text });
    const result = await runJob(directory, tasks, {
      viv,
      connection: { url, apiKey },
      signal: stop.signal,
      onEvent: (event: JobEvent) => screen.take(event),
    });
    screen.end();
    report(result, directory.path, flags);
  } catch (error) {
    screen.end();
    if (!stop.signal.aborted) throw error;
    note(`viv: interrupted; \`viv job resume ${directory.path}\` goes on`);
    throw new Exit(INTERRUPTED);
  } finally {
    interrupts();
    viv.close();
  }
}

function report(result: JobResult, path: string, flags: Output): void {
  if (flags.json) return printJson(result);
  for (const line of summaryLines(result)) print(line);
  note(path);
}

/** Sorts by day, unique beyond any two machines that share a node. */
export function newJobId(): string {
  return `${new Date().toISOString().slice(0, 10)}-${randomBytes(6).toString('hex')}`;
}

/** The first Ctrl-C ends the job in good order, the second this process. */
function onInterrupt(stop: AbortController, path: string, say: (text: string) => void): () => void {
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(INTERRUPTED);
    say(`viv: ending the running trials (Ctrl-C again: at once); \`viv job resume ${path}\` goes on`);
    stop.abort(new Error('interrupted'));
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  return () => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
  };
}
