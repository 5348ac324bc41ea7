import { type Exec, type JournalRecord, VivError } from '@vivarium/protocol';
import type { CellProcess, ProcessExit, ProcessFailure, ProcessHandlers } from '../cell/cell-process.ts';
import type { CommandGroup, Counters } from '../drivers/driver.ts';
import { KeptOutput } from '../journal/kept-output.ts';
import type { Box } from '../lifecycle/box.ts';
import { annotate, riseOf, type Signs } from './annotation.ts';
import { type ExecEndData, type ExecStartData, execOf, outputPath, type StreamData } from './exec-record.ts';
import { type Cause, decideOutcome, type Ending } from './outcome.ts';
import { OutputChannel } from './output-channel.ts';
import { TimeLimit } from './time-limit.ts';

/** How long a killed command may take to be gone before the edge stops waiting for its exit. */
const KILL_WAIT_MS = 10_000;
/** How often the end record is tried again while the disk is full. */
const RECORD_AGAIN_MS = 1000;

/**
 * A command from its start record to its end record. The guest keeps output and exit status until we release it, and we release it
 * after the end record is on file: a crash in between loses nothing.
 */
export class RunningExec {
  readonly id: string;
  readonly box: Box;
  readonly start: JournalRecord;
  readonly asked: ExecStartData;
  readonly stdout: OutputChannel;
  readonly stderr: OutputChannel;
  /** Resolves, never rejects, once the end record is on file. */
  readonly ended: Promise<void>;
  readonly handlers: ProcessHandlers;
  /** Settles once it runs or could not be started. */
  started: Promise<void> = Promise.resolve();
  process: CellProcess | null = null;
  group: CommandGroup | null = null;
  endRecord: JournalRecord | null = null;
  #resolveEnded!: () => void;
  /** The end record that the disk did not take yet. */
  #unwritten: ExecEndData | null = null;
  readonly #stuck = Promise.withResolvers<never>();
  #running = false;
  #cause: Cause | null = null;
  #causeMessage: string | null = null;
  #ending: Ending | null = null;
  #usage: { cpuMs: number; maxRssKiB: number } | null = null;
  #finishing = false;
  /** Its processes are being ended; the first of them may be dead already. */
  #killing = false;
  /** Monotonic. */
  readonly #startedMs: number;
  #before: Counters | null;
  readonly #limit: TimeLimit;

  /** `before`: the sandbox's counters when it was started, if they are known. */
  constructor(box: Box, start: JournalRecord, before: Counters | null, resumed = false) {
    this.id = start.exec!;
    this.box = box;
    this.start = start;
    this.asked = start.data as ExecStartData;
    this.#before = before;
    this.stdout = this.#channel(1, resumed);
    this.stderr = this.#channel(2, resumed);
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.#stuck.promise.catch(() => {});
    if (this.asked.pty) this.stderr.end();
    const { clock } = box.context;
    // After a restart only the wall clock can tell how long it has run.
    const agoMs = resumed ? Math.max(0, clock.now() - Date.parse(start.at)) : 0;
    this.#startedMs = clock.monotonicMs() - agoMs;

    this.#limit = new TimeLimit(box.context, this.asked.timeoutMs, () => this.#endFor('timeout'));
    this.handlers = {
      onData: (chan, _offset, chunk) => this.#onData(chan, chunk),
      onEof: (chan) => this.#onEof(chan),
      onExit: (exit) => this.#onExit(exit),
      onFail: (failure) => this.#onFail(failure),
    };
  }

  /** The command runs (execve succeeded, or it was found running after a restart of the edge). */
  began(): void {
    this.#running = true;
    if (this.box.row.state === 'running') this.resumeTimer();
  }

  /**
   * Resolves once the end record is on file. Rejects `node_disk_full` when the command is over and that can't be written down yet: its
   * state stays as it was, the guest keeps exit and output, and the record is tried again until it is on file.
   */
  get recorded(): Promise<void> {
    return Promise.race([this.ended, this.#stuck.promise]);
  }

  /** As the API shows it now. */
  view(): Exec {
    const exec = execOf(this.box.id, this.start, this.endRecord ?? undefined);
    if (this.endRecord) return exec;
    return {
      ...exec,
      state: this.#running ? 'running' : 'starting',
      pid: this.process?.pid ?? null,
      stdout: this.stdout.summary(true),
      stderr: this.stderr.summary(true),
    };
  }

  /** Ends the command and all it started, and says why. Resolves when it has ended. */
  async end(cause: Cause, message: string | null = null): Promise<void> {
    if (this.#cause || this.#finishing) return this.recorded;
    this.#cause = cause;
    this.#causeMessage = message;
    const unstick = this.box.context.clock.after(KILL_WAIT_MS, () => void this.#finish({ kind: 'unknown' }));
    this.#killing = true;
    try {
      if (this.group) await this.group.kill();
      else this.process?.killTree();
    } catch (error) {
      this.box.context.log.warn(
        { err: error, exec: this.id },
        'killing the command failed; its processes are asked one by one',
      );
      this.process?.killTree();
    }
    this.#killing = false;
    this.#finishWhenComplete();
    await this.recorded.finally(unstick);
  }

  /** The sandbox goes away now: what is known is written down, nothing is waited for. */
  abandon(cause: 'canceled' | 'sandbox_lost', message: string): void {
    this.#cause ??= cause;
    this.#causeMessage ??= message;
    this.#record(this.#ending ?? { kind: 'unknown' }, null);
  }

  /** It could not be started, and the request is answered with this error. */
  failedToStart(error: VivError): void {
    this.#ending = null;
    this.#record(null, null, error);
  }

  /** Time stands still while the sandbox is paused. */
  pauseTimer(): void {
    this.#limit.pause();
  }

  resumeTimer(): void {
    if (!this.#finishing) this.#limit.go();
  }

  /** After a restart: the time it ran before counts. */
  countTime(): void {
    this.#limit.count(this.box.context.clock.monotonicMs() - this.#startedMs);
  }

  /** After a restart: the OOM kills before it are in its start record, the rest counts from now. */
  countAgain(): void {
    const now = this.box.readCounters();
    this.#before = now && { ...now, oomKills: this.asked.oomKills ?? 0 };
  }

  #channel(stream: 1 | 2, resumed: boolean): OutputChannel {
    const path = outputPath(this.box.dir, this.id, stream);
    const { files } = this.box.context;
    const { keepBytes } = this.asked;
    const { outputBudget } = this.box;
    const kept = resumed
      ? KeptOutput.resume(path, files, keepBytes, outputBudget)
      : new KeptOutput(path, files, keepBytes, outputBudget);
    return new OutputChannel(kept, (offset, limit) => this.process?.ack(stream, offset, limit));
  }

  #onData(chan: 1 | 2, chunk: Uint8Array): void {
    if (this.#finishing) return;
    (chan === 1 ? this.stdout : this.stderr).push(chunk);
    this.box.context.metrics.outputBytes.inc(chunk.length);
    const limit = this.asked.outputLimitBytes;
    if (limit !== null && this.stdout.received + this.stderr.received > limit) this.#endFor('output_limit');
  }

  /** Whoever waits for the command hears of a failure. */
  #endFor(cause: Cause): void {
    this.end(cause).catch(() => {});
  }

  #onEof(chan: 1 | 2): void {
    (chan === 1 ? this.stdout : this.stderr).end();
    this.#finishWhenComplete();
  }

  #onExit(exit: ProcessExit): void {
    this.#ending ??= { kind: exit.kind, code: exit.code };
    this.#usage = { cpuMs: Math.round((exit.utimeUs + exit.stimeUs) / 1000), maxRssKiB: exit.maxRssKiB };
    this.#finishWhenComplete();
  }

  #onFail(failure: ProcessFailure): void {
    if (failure.stage !== 6) return void this.#finish({ kind: 'unknown' });
    const program = this.asked.argv[0] ?? '';
    const reason = failure.errno === 2 ? 'not found' : failure.message || `error ${failure.errno}`;
    this.#ending = { kind: 'failed', errno: failure.errno, message: `${program}: ${reason}` };
    void this.#finish(this.#ending);
  }

  #finishWhenComplete(): void {
    // Its first process is dead long before the last one of a fork bomb: it has ended when all have.
    if (this.#killing) return;
    if (this.#ending && this.stdout.ended && this.stderr.ended) void this.#finish(this.#ending);
  }

  async #finish(ending: Ending): Promise<void> {
    if (this.#finishing) return;
    this.#finishing = true;
    const clean = ending.kind === 'exited' && ending.code === 0 && !this.#cause;
    const counters = ending.kind === 'unknown' ? null : this.box.readCounters();
    const signs = counters &&
      this.#before && { ...riseOf(this.#before, counters), diskFull: !clean && (await this.box.isDiskFull()) };
    this.#record(ending, signs);
  }

  /** Writes the end record, then lets the guest forget the command. */
  #record(ending: Ending | null, signs: Signs | null, error?: VivError): void {
    this.#finishing = true;
    if (this.endRecord) return;
    this.pauseTimer();
    this.#write(this.#unwritten ?? this.#endData(ending, signs, error));
  }

  #write(data: ExecEndData): void {
    const { box } = this;
    if (this.endRecord || box.journal.closed) return;
    try {
      this.endRecord = box.journal.append({ type: 'exec_end', exec: this.id, data });
    } catch (failure) {
      return this.#writeLater(data, VivError.from(failure));
    }
    this.#ended();
    this.#release();
  }

  #writeLater(data: ExecEndData, failure: VivError): void {
    const { context, row } = this.box;
    if (!this.#unwritten)
      context.log.error({ err: failure, exec: this.id }, 'the end of a command can’t be journalled yet');
    this.#unwritten = data;
    this.#stuck.reject(failure);
    // With its sandbox everything goes, also what could not be written down.
    if (row.state === 'ending') this.#ended();
    else context.clock.after(RECORD_AGAIN_MS, () => context.closed || this.#write(data));
  }

  #ended(): void {
    for (const channel of [this.stdout, this.stderr]) {
      channel.end();
      channel.kept.finish();
    }
    this.box.execEnded(this);
    this.#resolveEnded();
  }

  /** A command that never ran has nothing to release; with a cell that is going away everything goes. */
  #release(): void {
    if (this.box.row.state === 'ending' || this.box.row.cold) return;
    if (this.#ending && this.#ending.kind !== 'failed') this.process?.release();
    this.group
      ?.release()
      .catch((err) => this.box.context.log.warn({ err, exec: this.id }, 'a command group was left behind'));
  }

  #endData(ending: Ending | null, signs: Signs | null, error?: VivError): ExecEndData {
    const durationMs = Math.max(0, Math.round(this.box.context.clock.monotonicMs() - this.#startedMs));
    const verdict = ending && decideOutcome(ending, this.#cause, signs?.oomKills ?? 0);
    const stdout = streamData(this.stdout);
    const stderr = streamData(this.stderr);
    return {
      outcome: verdict?.outcome ?? null,
      exitCode: verdict?.exitCode ?? null,
      message: error?.message ?? this.#causeMessage ?? verdict?.message ?? null,
      annotations: annotate(verdict?.outcome ?? null, signs, stdout.truncated || stderr.truncated, durationMs),
      pid: this.process?.pid ?? null,
      durationMs,
      stdout,
      stderr,
      cpuMs: this.#usage?.cpuMs ?? null,
      maxRssKiB: this.#usage?.maxRssKiB ?? null,
      ...(error ? { errorCode: error.code } : {}),
    };
  }
}

function streamData(channel: OutputChannel): StreamData {
  const { inline } = channel.kept;
  return { ...channel.summary(false), ...(inline?.length ? { b64: inline.toString('base64') } : {}) };
}
