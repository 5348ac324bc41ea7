import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { isLive, type ProcessRecord, type Revival, readRecord } from './process-record.ts';

const LOOK_MS = 500;
/** The first attempt comes after this: whoever killed it may start it himself. Each failure doubles it. */
const WAIT_FIRST_MS = 1000;
const WAIT_MAX_MS = 60_000;
/** A server that lived for this long is not counted as a failure. */
const STEADY_MS = 60_000;

/** When to start a dead server again: at once but for a moment, then ever more seldom. Times are monotonic. */
export class ReviveSchedule {
  #waitMs = WAIT_FIRST_MS;
  #dueMs: number | null = null;
  #aliveSinceMs: number | null = null;

  /** It lives at this moment. */
  alive(nowMs: number): void {
    this.#dueMs = null;
    this.#aliveSinceMs ??= nowMs;
    if (nowMs - this.#aliveSinceMs >= STEADY_MS) this.#waitMs = WAIT_FIRST_MS;
  }

  /** It is dead at this moment. True: start it now. */
  dead(nowMs: number): boolean {
    this.#aliveSinceMs = null;
    this.#dueMs ??= nowMs + this.#waitMs;
    if (nowMs < this.#dueMs) return false;
    this.#waitMs = Math.min(WAIT_MAX_MS, this.#waitMs * 2);
    this.#dueMs = nowMs + this.#waitMs;
    return true;
  }
}

/**
 * Watches the record of the server. One that stopped on purpose has removed its record; one that died has left it there, and is
 * started again. The lock of the state directory sees to it that there is never a second one.
 */
export function watchServer(serverRecord: string): void {
  const schedule = new ReviveSchedule();
  setInterval(() => {
    const record: ProcessRecord | undefined = readRecord(serverRecord);
    if (record === undefined || isLive(record)) return schedule.alive(performance.now());
    if (record.revive !== undefined && schedule.dead(performance.now())) revive(record.revive);
  }, LOOK_MS);
}

function revive({ argv, log }: Revival): void {
  try {
    const output = openSync(log, 'a', 0o600);
    // Descriptor 3 is where a server says that it is ready.
    const stdio = ['ignore' as const, output, output, 'ignore' as const];
    const child = spawn(argv[0]!, argv.slice(1), { cwd: '/', detached: true, stdio });
    child.on('error', () => {});
    child.unref();
    closeSync(output);
  } catch {
    // Tried again later.
  }
}
