import { isFinal } from '@vivarium/core';
import { type ExecStart, type JournalRecord, VivError } from '@vivarium/protocol';
import type { SpawnRequest } from '../cell/cell-process.ts';
import { STAGE } from '../cell/failure.ts';
import type { Idempotency } from '../edge.ts';
import type { Box } from '../lifecycle/box.ts';
import { deadError } from '../lifecycle/box.ts';
import { startData } from './exec-record.ts';
import { RunningExec } from './running-exec.ts';
import { feedStdin, keepStdin } from './stdin-file.ts';

const SHELL = '/bin/sh';

/** A command that is being started; `ready` resolves once it runs (or could not), and rejects when the request is refused. */
export type Started = { exec: RunningExec; ready: Promise<void> };

/**
 * Journals the request, then starts it: the child waits in the guest until it is in a control group of its own, so nothing it starts can
 * escape. Synchronous up to the journal record, so that two requests with one key can't both pass.
 */
export function startExec(box: Box, start: ExecStart, stream: boolean, idempotency?: Idempotency): Started {
  const cell = box.requireCell();
  checkRoom(box);
  const argv = start.argv ?? [SHELL, '-c', start.command!];
  const counters = box.readCounters();
  const exec = new RunningExec(
    box,
    writeDown(box, argv, start, stream, counters?.oomKills ?? 0, idempotency),
    counters,
  );
  box.execs.set(exec.id, exec);
  box.execsTotal += 1;
  box.touch();
  const request: SpawnRequest = {
    argv,
    env: start.env,
    cwd: start.cwd ?? box.row.cwd ?? undefined,
    user: start.user ?? box.row.user ?? undefined,
    pty: start.pty,
    stdin: stream || start.stdin !== undefined || start.pty !== undefined,
    rlimits: rlimits(start),
    tag: Buffer.from(exec.id),
    handlers: exec.handlers,
  };
  exec.started = bringUp(exec, () => cell.spawn(request));
  exec.started.catch(() => {});
  return { exec, ready: exec.started };
}

async function bringUp(exec: RunningExec, spawn: () => Promise<RunningExec['process']>): Promise<void> {
  // By the time it is placed the sandbox may have another cell.
  const handle = exec.box.handle!;
  try {
    exec.process = await spawn();
    exec.group = await handle.placeCommand(exec.id, exec.process!.pid);
  } catch (thrown) {
    return refuse(exec, namingCause(exec, VivError.from(thrown)));
  }
  if (exec.endRecord) return endedEarly(exec);
  try {
    await exec.process!.start();
  } catch (thrown) {
    const error = VivError.from(thrown);
    // execve failed: the exec has ended with 126 or 127, which onFail wrote down.
    if (error.details.stage === STAGE.EXEC) return exec.recorded;
    return refuse(exec, namingCause(exec, error));
  }
  exec.began();
  feedStdin(exec);
}

/** The guest says neither which user nor which directory it is about. `details.field` tells the two from other failures. */
function namingCause({ asked }: RunningExec, error: VivError): VivError {
  if (error.code === 'user_unknown') {
    const details = { ...error.details, field: 'user' };
    return new VivError('user_unknown', `the sandbox has no user "${asked.user}"`, { details, cause: error });
  }
  if (error.details.stage !== STAGE.CWD) return error;
  const details = { ...error.details, field: 'cwd' };
  const reason = error.message.replace(/^.*: /, '');
  return new VivError(error.code, `working directory ${asked.cwd ?? 'of the image'}: ${reason}`, {
    details,
    cause: error,
  });
}

/** Takes back a command that could not be started, and gives its idempotency key free: nothing of it ran. */
function refuse(exec: RunningExec, error: VivError): void {
  const { box } = exec;
  if (exec.endRecord && box.row.state !== 'running') return endedEarly(exec);
  if (exec.endRecord) throw error;
  exec.process?.cancel();
  if (exec.asked.idempotencyKey) box.execKeys?.delete(exec.asked.idempotencyKey);
  exec.failedToStart(error);
  throw error;
}

/** It was ended while it was being started, by a call or a pause. Its record says how, unless the sandbox is gone with it. */
function endedEarly({ box: { row } }: RunningExec): void {
  if (row.state === 'ending' || isFinal(row.state)) throw deadError(row);
}

function writeDown(
  box: Box,
  argv: string[],
  start: ExecStart,
  stream: boolean,
  oomKills: number,
  idempotency: Idempotency | undefined,
): JournalRecord {
  const id = box.context.newId();
  const input = start.stdin === undefined ? null : Buffer.from(start.stdin, 'base64');
  const data = startData(argv, start, {
    cwd: start.cwd ?? box.row.cwd,
    user: start.user ?? box.row.user,
    stdin: input ? input.length : stream ? 'stream' : 'none',
  });
  if (oomKills > 0) data.oomKills = oomKills;
  if (idempotency) Object.assign(data, { idempotencyKey: idempotency.key, requestHash: idempotency.requestHash });
  if (input && input.length > 0) keepStdin(box.dir, id, input);
  const record = box.journal.append({ type: 'exec_start', exec: id, data });
  if (idempotency) {
    box.execKeys ??= new Map();
    box.execKeys.set(idempotency.key, { requestHash: idempotency.requestHash, exec: id });
  }
  return record;
}

function checkRoom(box: Box): void {
  const { limits, draining } = box.context;
  if (draining) throw new VivError('shutting_down', 'the node is stopping and starts no commands');
  if (box.execs.size >= limits.execsPerSandbox) {
    throw new VivError(
      'too_many_requests',
      `sandbox ${box.id} already runs ${box.execs.size} commands, the maximum is ${limits.execsPerSandbox}`,
      {
        details: { maximum: limits.execsPerSandbox },
      },
    );
  }
  box.requireJournalRoom();
}

/** Numbers of getrlimit(2) on x86-64. */
const RESOURCES = { cpu: 0, fsize: 1, data: 2, stack: 3, core: 4, nproc: 6, nofile: 7, memlock: 8, as: 9 } as const;

function rlimits(start: ExecStart): SpawnRequest['rlimits'] {
  if (!start.rlimits) return undefined;
  return Object.entries(start.rlimits).map(([name, value]) => ({
    resource: RESOURCES[name as keyof typeof RESOURCES],
    soft: BigInt(value!),
    hard: BigInt(value!),
  }));
}
