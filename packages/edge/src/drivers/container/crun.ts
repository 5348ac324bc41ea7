import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { VivError } from '@vivarium/protocol';
import type { CellGroup } from '../../limits/cell-group.ts';
import { write } from '../../limits/cell-group.ts';
import { openMemoryFile } from '../../native/memory-file.ts';
import { kill, spawnProcess, waitNow } from '../../native/process.ts';

/** A create that takes longer than this is given up. */
const DEADLINE_MS = 60_000;
/** Should a SIGCHLD get lost. */
const POLL_MS = 200;

type Exit = { exitCode: number | null; signal: number | null };
const waiting = new Map<number, (exit: Exit) => void>();
let poll: NodeJS.Timeout | undefined;
let standard: number | undefined;

/**
 * Runs crun with `listener` as its descriptor 3 and resolves when it has ended. It is born inside the cell's control
 * groups, so whatever becomes of it or of us, it is found and ended with the cell.
 */
export function runCrun(crun: string, argv: string[], listener: number, group: CellGroup): Promise<Exit> {
  return runProgram(crun, argv, [listener], group);
}

/** The same with another program; `extra` are its descriptors from 3 on. */
export async function runProgram(path: string, argv: string[], extra: number[], group: CellGroup): Promise<Exit> {
  const pid = group.version === 1 ? spawnWithinV1(path, argv, extra, group) : spawnWithinV2(path, argv, extra, group);
  group.prepareCompletion(pid);
  const timer = setTimeout(() => killQuietly(pid), DEADLINE_MS);
  try {
    return await exitOf(pid);
  } finally {
    clearTimeout(timer);
  }
}

/** What crun wrote to its log, as one line. */
export function readCrunLog(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim().replaceAll('\n', ' · ').slice(0, 2000);
  } catch {
    return '';
  }
}

/**
 * On v1 a thread may be in groups of its own, and one that moves itself takes no lock (writing a pid waits for an RCU
 * grace period, some 6 ms when the machine is idle). So this thread goes in, starts the child, and comes out again.
 * Not into the memory group: pages of ours that were charged to it would keep it half alive after the cell's end.
 */
function spawnWithinV1(path: string, argv: string[], extra: number[], group: CellGroup): number {
  const dirs = group.dirs.filter((dir) => dir !== group.dir('memory'));
  try {
    for (const dir of dirs) write(`${dir}/tasks`, '0');
    return spawnProcess(path, argv, ENVIRONMENT, descriptors(extra));
  } finally {
    for (const dir of dirs) write(`${dirname(dirname(dir))}/tasks`, '0');
  }
}

/** On v2 a process is in one group with all its threads: a shell moves itself and becomes crun. */
function spawnWithinV2(path: string, argv: string[], extra: number[], group: CellGroup): number {
  const script = 'echo 0 > "$1" && shift && exec "$@"';
  const args = ['sh', '-c', script, 'sh', `${group.dirs[0]}/cgroup.procs`, path, ...argv.slice(1)];
  return spawnProcess('/bin/sh', args, ENVIRONMENT, descriptors(extra));
}

const ENVIRONMENT = ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'];

/**
 * Never /dev/null: crun gives its standard descriptors to the container's root (fchown), and then a sandbox would own a
 * device of the host.
 */
function descriptors(extra: number[]): number[] {
  standard ??= openMemoryFile('crun');
  return [standard, standard, standard, ...extra];
}

function exitOf(pid: number): Promise<Exit> {
  if (!poll) {
    process.on('SIGCHLD', reap);
    poll = setInterval(reap, POLL_MS);
    poll.unref();
  }
  return new Promise((resolve) => {
    waiting.set(pid, resolve);
    reap();
  });
}

function reap(): void {
  for (const [pid, resolve] of waiting) {
    const exit = waitNow(pid);
    if (!exit) continue;
    waiting.delete(pid);
    resolve(exit);
  }
}

function killQuietly(pid: number): void {
  try {
    kill(pid, 9);
  } catch {
    // It has just ended.
  }
}

/** crun's failure as an error of ours. */
export function crunError(exit: Exit, log: string): VivError {
  const how = exit.signal === null ? `exit code ${exit.exitCode}` : `signal ${exit.signal}`;
  return new VivError('internal', `crun could not start the container (${how}): ${log || 'no message'}`, {
    details: { crunExit: how },
  });
}
