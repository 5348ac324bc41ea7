import { join } from 'node:path';
import { checkStep, type Deadline } from '@vivarium/core';
import { type JournalRecord, type PackReport, type SandboxState, VivError } from '@vivarium/protocol';
import type { Cell } from '../cell/cell.ts';
import type { CellHandle, Counters } from '../drivers/driver.ts';
import type { RunningExec } from '../exec/running-exec.ts';
import { diskError, type Journal } from '../journal/journal.ts';
import type { OutputBudget } from '../journal/kept-output.ts';
import type { StatsHistory } from '../metrics/stats-history.ts';
import { type SandboxRow, toSandbox } from '../registry/sandbox-row.ts';
import { isVolumeFull } from '../volumes/mounts.ts';
import type { EdgeContext } from './context.ts';

/** Close to its limit a disk takes no more blocks: metadata has a share. */
const FULL_PART = 0.985;

/** A key's earlier request and the exec it made. */
export type ExecKey = { requestHash: string; exec: string };

/** A key's earlier pack, under way or done. */
export type PackKey = { requestHash: string; report: Promise<PackReport> };

/** A live sandbox in memory: its row, its journal and, while it runs, its cell. Thousands of them exist: keep it small. */
export class Box {
  readonly context: EdgeContext;
  readonly row: SandboxRow;
  readonly journal: Journal;
  handle: CellHandle | null = null;
  cell: Cell | null = null;
  /** Gives the image's layers back. */
  releaseLayers: (() => void) | null = null;
  readonly execs = new Map<string, RunningExec>();
  /** Idempotency keys of execs; made when the first one comes. */
  execKeys: Map<string, ExecKey> | null = null;
  /** The same of packs: the newest few. */
  packKeys: Map<string, PackKey> | null = null;
  execsTotal = 0;
  /** Streams that are open (files, ports): as long as there are some, it is not idle. */
  open = 0;
  /** Monotonic. */
  lastTrafficMs: number;
  /** How many hold its time-outs back: what is made of it must be done first. */
  timeoutsHeld = 0;
  ttl: Deadline | null = null;
  idle: Deadline | null = null;
  /** Settles when creating is over, however. */
  creating: Promise<void> | null = null;
  /** Settles when the resume under way is over. */
  waking: Promise<void> | null = null;
  /** Settles when it has ended. */
  ending: Promise<void> | null = null;
  /** What is to be stopped with the cell: reach listeners. */
  readonly onEnd: (() => void)[] = [];
  /** Bytes its endpoints had used before a restart of the edge, by port. */
  reachBytes: Map<number, number> | null = null;
  /** What was measured of it, once something was. */
  history: StatsHistory | null = null;
  /** What its commands may still have kept on file, all together. */
  readonly outputBudget: OutputBudget;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(context: EdgeContext, row: SandboxRow, journal: Journal) {
    this.context = context;
    this.row = row;
    this.journal = journal;
    this.lastTrafficMs = context.clock.monotonicMs();
    this.outputBudget = { leftBytes: context.limits.outputBytes };
  }

  get id(): string {
    return this.row.id;
  }

  get dir(): string {
    return this.journal.dir;
  }

  /** Traffic: the idle time starts anew. */
  touch(): void {
    this.lastTrafficMs = this.context.clock.monotonicMs();
  }

  /**
   * Takes the step, with other changes of the row; on disk and told when it returns. A step that begins something is not taken when it
   * can't be written down (`node_disk_full`). One that says how it went, and ending, which frees what a full disk needs, is taken and
   * written when there is room; a start before that finds out by itself.
   */
  step(to: SandboxState, change: Partial<SandboxRow> = {}): void {
    const { state: from } = this.row;
    checkStep(this.id, from, to);
    const next: SandboxRow = { ...this.row, ...change, state: to };
    const { sandboxes } = this.context.registry;
    try {
      sandboxes.update(next);
    } catch (error) {
      // Only then is it known which processes are its cell.
      if (to === 'running' && (from === 'creating' || this.row.cold)) throw diskError(error, 'edge.db');
      if (to === 'pausing' || to === 'resuming') throw diskError(error, 'edge.db');
      this.context.log.error({ err: error, sandbox: this.id, state: to }, 'a step can’t be written down yet');
      sandboxes.updateLater(next);
    }
    Object.assign(this.row, next);
    const { endReason, error } = this.row;
    this.note('state', { state: to, ...(endReason ? { endReason } : {}), ...(error ? { error } : {}) });
    this.context.hub.publish(toSandbox(this.row), this.row.keyId);
  }

  /** Changes the row without a step. */
  change(change: Partial<SandboxRow>): void {
    const { registry } = this.context;
    registry.write(() => registry.sandboxes.update({ ...this.row, ...change }));
    Object.assign(this.row, change);
    this.context.hub.publish(toSandbox(this.row), this.row.keyId);
  }

  /** Journals something that is not worth failing for: a full disk is logged, and what comes after the end is dropped. */
  note(type: JournalRecord['type'], data: Record<string, unknown>): void {
    if (this.journal.closed) return;
    try {
      this.journal.append({ type, data });
    } catch (err) {
      this.context.log.error({ err, sandbox: this.id }, 'a journal record was lost');
    }
  }

  /** The guest's end of a running sandbox. Throws what is in the way: `sandbox_dead`, `sandbox_paused`, `state_conflict`. */
  requireCell(): Cell {
    const { state } = this.row;
    if (state === 'running' && this.cell) return this.cell;
    if (state === 'paused' || state === 'pausing')
      throw new VivError('sandbox_paused', `sandbox ${this.id} is ${state}`, { details: { id: this.id } });
    if (state === 'ending' || state === 'ended' || state === 'failed') throw deadError(this.row);
    throw new VivError('state_conflict', `sandbox ${this.id} is ${state}`, { details: { id: this.id, state } });
  }

  /** Nothing is done that could not be written down: `quota_exceeded` when the journal has reached its maximum. */
  requireJournalRoom(): void {
    const maximum = this.context.limits.journalBytes;
    if (this.journal.bytes < maximum) return;
    const message = `the journal of sandbox ${this.id} has reached its maximum of ${maximum} bytes`;
    throw new VivError('quota_exceeded', message, { details: { maximum } });
  }

  /** One at a time: pausing, resuming, forking, ending. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(work);
    this.#tail = result.catch(() => {});
    return result;
  }

  /** What its commands have hit so far, or null when that can't be read. */
  readCounters(): Counters | null {
    try {
      return this.handle?.counters() ?? null;
    } catch {
      return null;
    }
  }

  /** Has it used up its disk, or one of its volumes? */
  async isDiskFull(): Promise<boolean> {
    try {
      if (isVolumeFull(this.context, this.row)) return true;
      const { diskBytes, diskLimitBytes } = await this.handle!.usage();
      return diskLimitBytes > 0 && diskBytes >= diskLimitBytes * FULL_PART;
    } catch {
      return false;
    }
  }

  /** When it ends if it is resumed now: a clock that was stopped starts anew. */
  expiryAfterPause(): number {
    return this.row.expiresAt ?? this.context.clock.now() + this.row.ttlS * 1000;
  }

  /** Cancels TTL and idle time-out. */
  disarm(): void {
    this.context.deadlines.cancel(this.ttl);
    this.context.deadlines.cancel(this.idle);
    this.ttl = null;
    this.idle = null;
  }

  execEnded(exec: RunningExec): void {
    this.execs.delete(exec.id);
    this.touch();
    this.context.endedExecs.add(exec);
    this.context.metrics.execEnded(exec);
  }
}

/** What a request to an ended sandbox is answered with. */
export function deadError(row: SandboxRow): VivError {
  const why = row.endReason ? ` (${row.endReason})` : '';
  return new VivError('sandbox_dead', `sandbox ${row.id} has ended${why}`, {
    details: { id: row.id, state: row.state, endReason: row.endReason },
  });
}

/** Where a sandbox's journal and outputs are. */
export function sandboxDir(stateDir: string, id: string): string {
  return join(stateDir, 'sandboxes', id);
}
