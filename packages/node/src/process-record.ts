import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** A long-lived process of ours as it wrote itself down. Pids are reused: start time and boot tell a stale record. */
export type ProcessRecord = {
  pid: number;
  startTime: string;
  bootId: string;
  url?: string;
  startedAt: string;
  /** How the holder starts it again when it dies without removing this record; a server that somebody else watches has none. */
  revive?: Revival;
};

/** A command line, and the file that takes its output. */
export type Revival = { argv: string[]; log: string };

/** Writes this process down at `file`, whole or not at all. */
export function writeRecord(file: string, extra: { url?: string; revive?: Revival | undefined } = {}): ProcessRecord {
  const record: ProcessRecord = {
    pid: process.pid,
    startTime: startTime(process.pid) ?? '',
    bootId: bootId(),
    startedAt: new Date().toISOString(),
    ...extra,
  };
  mkdirSync(dirname(file), { recursive: true, mode: 0o711 });
  writeFileSync(`${file}.new`, `${JSON.stringify(record)}\n`, { mode: 0o644 });
  renameSync(`${file}.new`, file);
  return record;
}

/** The record at `file` when its process still lives, else undefined (missing, torn or stale). */
export function liveRecord(file: string): ProcessRecord | undefined {
  const record = readRecord(file);
  return record !== undefined && isLive(record) ? record : undefined;
}

/** The record at `file`, whether or not its process lives; undefined when it is missing or torn. */
export function readRecord(file: string): ProcessRecord | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ProcessRecord;
  } catch {
    return undefined;
  }
}

/** Removes the record if it is this process's own. */
export function dropRecord(file: string): void {
  if (liveRecord(file)?.pid === process.pid) rmSync(file, { force: true });
}

/** Is it still the process that was written down? */
export function isLive(record: ProcessRecord): boolean {
  return record.bootId === bootId() && record.startTime !== '' && startTime(record.pid) === record.startTime;
}

/** Waits until the process is gone; false when it still lives after `timeoutMs`. */
export async function gone(
  record: ProcessRecord,
  timeoutMs: number,
  onWait?: (waitedMs: number) => void,
): Promise<boolean> {
  const stepMs = 20;
  for (let waited = 0; isLive(record); waited += stepMs) {
    if (waited >= timeoutMs) return false;
    await delay(stepMs);
    onWait?.(waited);
  }
  return true;
}

/** Field 22 of /proc/PID/stat (proc_pid_stat(5)), undefined for a process that is gone or a zombie. */
export function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, field 2, is in parentheses and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
}
