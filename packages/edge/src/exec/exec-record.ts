import { join } from 'node:path';
import type { z } from '@hono/zod-openapi';
import type { Annotation, Exec, ExecStart, JournalRecord, Outcome, StreamSummary } from '@vivarium/protocol';

type Annotations = z.infer<typeof Annotation>[];

/** `data` of an `exec_start` record: the request as it will be run. Values of variables may be secrets, so only their names are there. */
export type ExecStartData = {
  argv: string[];
  /** Bytes of the real argv when the one here was cut. */
  argvBytes?: number;
  envNames: string[];
  cwd: string | null;
  user: string | null;
  pty: boolean;
  label: string | null;
  /** What feeds stdin: nothing, a client's stream, or this many bytes that came with the request. */
  stdin: 'none' | 'stream' | number;
  timeoutMs: number | null;
  keepBytes: number;
  outputLimitBytes: number | null;
  /** The sandbox's OOM kills before it, if there were any. */
  oomKills?: number;
  idempotencyKey?: string;
  requestHash?: string;
};

export type StreamData = StreamSummary & {
  /** The kept bytes when they are few; else they are in `out/<exec>.1|.2`. */ b64?: string;
};

/** `data` of an `exec_end` record. */
export type ExecEndData = {
  outcome: Outcome | null;
  exitCode: number | null;
  message: string | null;
  annotations: Annotations;
  pid: number | null;
  durationMs: number;
  stdout: StreamData;
  stderr: StreamData;
  cpuMs: number | null;
  maxRssKiB: number | null;
  /** Code of the error with which the request was answered, when it could not even start. */
  errorCode?: string;
};

/** Arguments longer than this are cut in the journal. */
const ARGV_JOURNAL_BYTES = 16 * 1024;

export function startData(
  argv: string[],
  start: ExecStart,
  extra: Pick<ExecStartData, 'cwd' | 'user' | 'stdin'>,
): ExecStartData {
  const bytes = argv.reduce((sum, argument) => sum + argument.length + 1, 0);
  return {
    ...(bytes > ARGV_JOURNAL_BYTES ? { argv: cutArgv(argv), argvBytes: bytes } : { argv }),
    envNames: Object.keys(start.env),
    ...extra,
    pty: start.pty !== undefined,
    label: start.label ?? null,
    timeoutMs: start.timeoutMs ?? null,
    keepBytes: start.keepBytes,
    outputLimitBytes: start.outputLimitBytes ?? null,
  };
}

const NO_OUTPUT: StreamSummary = { bytes: 0, keptBytes: 0, truncated: false, sha256: null };

/** The exec that a start record and, once it ended, an end record tell of. */
export function execOf(sandbox: string, start: JournalRecord, end?: JournalRecord): Exec {
  const asked = start.data as ExecStartData;
  const came = end?.data as ExecEndData | undefined;
  const summary = ({ b64: _, ...rest }: StreamData): StreamSummary => rest;
  return {
    id: start.exec!,
    sandbox,
    seq: start.seq,
    argv: asked.argv,
    user: asked.user,
    cwd: asked.cwd,
    pty: asked.pty,
    label: asked.label,
    state: came ? 'ended' : 'starting',
    pid: came?.pid ?? null,
    startedAt: start.at,
    endedAt: end?.at ?? null,
    durationMs: came?.durationMs ?? null,
    outcome: came?.outcome ?? null,
    exitCode: came?.exitCode ?? null,
    message: came?.message ?? null,
    annotations: came?.annotations ?? [],
    stdout: came ? summary(came.stdout) : NO_OUTPUT,
    stderr: came ? summary(came.stderr) : NO_OUTPUT,
    cpuMs: came?.cpuMs ?? null,
    maxRssKiB: came?.maxRssKiB ?? null,
  };
}

/** A command that nobody runs any more and whose end is not on file: the disk was full when its sandbox ended. */
export function whole(exec: Exec): Exec {
  if (exec.state === 'ended') return exec;
  const outcome: Outcome = { type: 'sandbox_lost' };
  return { ...exec, state: 'ended', outcome, exitCode: 125, message: 'its end could not be written down' };
}

/** File that keeps a stream of an exec: 0 what is fed to stdin, 1 stdout, 2 stderr. */
export function outputPath(sandboxDir: string, exec: string, stream: 0 | 1 | 2): string {
  return join(sandboxDir, 'out', `${exec}.${stream}`);
}

function cutArgv(argv: string[]): string[] {
  const kept: string[] = [];
  let left = ARGV_JOURNAL_BYTES;
  for (const argument of argv) {
    if (left <= 0) break;
    kept.push(argument.slice(0, left));
    left -= argument.length + 1;
  }
  return kept;
}
