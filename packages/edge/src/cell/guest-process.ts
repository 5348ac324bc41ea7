import { VivError } from '@vivarium/protocol';
import type { CellProcess, ProcessHandlers, RetainedProcess, SpawnRequest } from './cell-process.ts';
import { Deadline } from './deadline.ts';
import { failureError, type GuestFailure, parseFailure } from './failure.ts';
import { FRAME, readOffset, violation } from './frame.ts';
import type { CellStream } from './link.ts';
import { Outflow } from './outflow.ts';
import { parseExit } from './process-exit.ts';
import { ProcessOutput } from './process-output.ts';
import type { RetainedState } from './retained-state.ts';
import type { Session } from './session.ts';
import { spawnFrame } from './spawn-frame.ts';

/** spawning: SPAWN sent. waiting: the child exists. starting: START sent. over: no handler is called any more. */
type Phase = 'spawning' | 'waiting' | 'starting' | 'running' | 'exited' | 'over';
type Waiter<T> = { resolve: (value: T) => void; reject: (error: VivError) => void };

export const WINDOW_DEFAULT = 65_536;
const ANSWER_MS = 30_000;
/** After a reconnect: how long an answer to START may still come before "START received" counts as running. */
const STARTED_MS = 200;
/** Signals and the like that wait for the next connection. */
const DEFERRED_MAX = 64;

/** A process in the guest: its life from SPAWN to RELEASE, across connections. */
export class GuestProcess implements CellStream, CellProcess {
  readonly #session: Session;
  readonly stream: number;
  #handlers: ProcessHandlers | null;
  #phase: Phase = 'spawning';
  #pid = 0;
  /** null until a retained process is claimed. */
  #out: ProcessOutput | null = null;
  #in: Outflow | null = null;
  /** Start of what the next writes bring, which the guest has already. */
  #skipInput = 0;
  #spawned: Waiter<CellProcess> | null = null;
  #started: Waiter<void> | null = null;
  #exit: Buffer | null = null;
  #exitHeard = false;
  #failure: VivError | null = null;
  /** A FAIL that came before anyone claimed the process. */
  #unheard: GuestFailure | null = null;
  #deadline: Deadline | null = null;
  #deferred: (() => void)[] | null = null;
  /** As the guest last described it; null for processes of this session. */
  #retained: RetainedState | null = null;

  constructor(session: Session, stream: number | null, handlers: ProcessHandlers | null) {
    this.#session = session;
    this.#handlers = handlers;
    this.stream = stream ?? session.add(this);
  }

  /** The session must be up. */
  static spawn(session: Session, request: SpawnRequest): Promise<CellProcess> {
    const process = new GuestProcess(session, null, request.handlers);
    try {
      session.send(spawnFrame(request, process.stream));
    } catch (error) {
      session.forget(process.stream, 0);
      return Promise.reject(error);
    }
    const channels = request.pty || request.mergeStderr ? 1 : 2;
    process.#out = ProcessOutput.begin(session, process.stream, channels, request.window ?? WINDOW_DEFAULT);
    if (request.stdin || request.pty) process.#in = new Outflow(session, process.stream, true);
    process.#await('SPAWN');
    return new Promise((resolve, reject) => {
      process.#spawned = { resolve, reject };
    });
  }

  /** A process that an earlier session left: it sends nothing until `claim`. */
  static adopt(session: Session, state: RetainedState): GuestProcess {
    const process = new GuestProcess(session, state.stream, null);
    process.#pid = state.pid;
    process.#phase = state.phase;
    process.#exit = state.exit;
    process.#retained = state;
    if (state.received !== null) process.#in = new Outflow(session, state.stream, true, state.received);
    return process;
  }

  /** null once it is claimed or over. */
  get retained(): RetainedProcess | null {
    const state = this.#retained;
    if (state === null || this.#handlers !== null || this.#phase === 'over') return null;
    const { stream, pid, tag, out1, out2, received } = state;
    const phase = this.#phase as RetainedProcess['phase'];
    return { stream, pid, phase, tag, out1: out1 ?? { base: 0, end: 0, eof: true }, out2, received: received ?? 0 };
  }

  /** Takes over a retained process from what the caller has kept. */
  claim(
    kept: { out1: number; out2: number; in: number; window?: number | undefined },
    handlers: ProcessHandlers,
  ): void {
    const state = this.#retained as RetainedState;
    this.#handlers = handlers;
    const received = state.received ?? 0;
    if (kept.in > received) {
      throw new VivError('state_conflict', `stdin can't go on at ${kept.in}: the guest has ${received} bytes of it`);
    }
    this.#skipInput = received - kept.in;
    this.#out = ProcessOutput.goOn(this.#session, state, kept, kept.window ?? WINDOW_DEFAULT);
    if (this.#unheard === null) this.#out.tellAll();
    process.nextTick(() => this.#catchUp());
  }

  // ---- CellProcess

  get pid(): number {
    return this.#pid;
  }

  start(): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (this.#phase === 'exited') return Promise.resolve();
    if (this.#phase !== 'waiting')
      return Promise.reject(new VivError('state_conflict', `start() of a process that is ${this.#phase}`));
    this.#phase = 'starting';
    this.#session.sendShort(FRAME.START, this.stream);
    this.#await('START');
    return new Promise((resolve, reject) => {
      this.#started = { resolve, reject };
    });
  }

  write(chunk: Uint8Array): Promise<void> {
    const skip = Math.min(this.#skipInput, chunk.length);
    this.#skipInput -= skip;
    if (this.#phase === 'over' || this.#in === null) {
      return Promise.reject(new VivError('exec_not_running', 'the process has no open stdin'));
    }
    const input = this.#in;
    return new Promise((resolve, reject) => {
      input.write(skip > 0 ? chunk.subarray(skip) : chunk, (error) => (error ? reject(error) : resolve()));
    });
  }

  closeStdin(): void {
    if (this.#phase !== 'over') this.#in?.close();
  }

  signal(signal: number, scope: 'process' | 'group' = 'process'): void {
    this.#tell(() => this.#session.sendShort(FRAME.SIGNAL, this.stream, signal, scope === 'group' ? 1 : 0));
  }

  resize(rows: number, cols: number): void {
    this.#tell(() => this.#session.sendShort(FRAME.RESIZE, this.stream, rows + cols * 0x1_0000));
  }

  killTree(): void {
    this.#tell(() => this.#session.sendShort(FRAME.KILLTREE, this.stream));
  }

  ack(chan: 1 | 2, offset: number, limit: number): void {
    if (this.#phase !== 'over') this.#out?.grant(chan, offset, limit);
  }

  release(): void {
    if (this.#phase === 'over') return;
    if (this.#phase !== 'exited') throw new VivError('state_conflict', `release() of a process that is ${this.#phase}`);
    this.#session.sendShort(FRAME.RELEASE, this.stream);
    this.#end(null);
  }

  cancel(): void {
    if (this.#phase === 'over') return;
    this.#session.sendShort(FRAME.CANCEL, this.stream);
    this.#end(new VivError('state_conflict', 'the process was canceled'));
  }

  // ---- CellStream

  frame(type: number, chan: number, payload: Buffer): void {
    switch (type) {
      case FRAME.SPAWNED:
        return this.#onSpawned(payload.readUInt32LE(0));
      case FRAME.OK:
        return this.#onOk(payload);
      case FRAME.FAIL:
        return this.#onFail(parseFailure(payload));
      case FRAME.EXITED:
        return this.#onExited(payload);
      case FRAME.EOF:
        return this.#onEof(chan, readOffset(payload, 0));
      case FRAME.WINDOW:
        if (this.#in === null) throw violation('a window for a stdin that is no stream');
        return this.#in.window(payload);
      default:
        throw violation(`frame of type ${type} on a process`);
    }
  }

  data(chan: number, offset: number, piece: Buffer): void {
    const out = this.#output();
    const repeats = out.accept(chan, offset, piece.length);
    if (this.#started) this.#running();
    if (repeats < piece.length) {
      this.#handlers?.onData(chan as 1 | 2, offset + repeats, repeats > 0 ? piece.subarray(repeats) : piece);
    }
    if (this.#phase !== 'over') out.tellIfDue(chan);
  }

  disconnected(): boolean {
    this.#deadline?.clear();
    return true;
  }

  reconnected(state: RetainedState | null): void {
    if (state === null) return this.#vanished();
    if (state.kind !== 'process') throw violation(`STATE says ${state.kind} about a process`);
    if (this.#phase === 'spawning') this.#onSpawned(state.pid);
    else if (state.pid !== this.#pid) throw violation(`pid ${this.#pid} became ${state.pid}`);
    this.#resync(state);
    const deferred = this.#deferred ?? [];
    this.#deferred = null;
    for (const say of deferred) say();
  }

  lost(error: VivError): void {
    this.#end(error);
  }

  // ---- inside

  /** What happened before the claim. */
  #catchUp(): void {
    if (this.#phase === 'over') return;
    if (this.#unheard) {
      this.#handlers?.onFail(this.#unheard);
      this.#end(failureError('exec', this.#unheard));
    } else if (this.#exit && !this.#exitHeard) {
      this.#exitHeard = true;
      this.#handlers?.onExit(parseExit(this.#exit));
    }
  }

  #output(): ProcessOutput {
    if (this.#out === null || this.#phase === 'spawning') throw violation(`output of a process that is ${this.#phase}`);
    return this.#out;
  }

  #onSpawned(pid: number): void {
    const spawned = this.#spawned;
    if (this.#phase !== 'spawning' || spawned === null) throw violation('SPAWNED twice');
    if (pid < 1) throw violation('a pid of 0');
    this.#deadline?.clear();
    this.#phase = 'waiting';
    this.#pid = pid;
    this.#spawned = null;
    spawned.resolve(this);
  }

  #onOk(payload: Buffer): void {
    if (payload.length > 0) throw violation('OK of an exec with a payload');
    if (this.#phase === 'starting') this.#running();
    // The answer to a START from before a reconnect.
    else if (this.#retained === null) throw violation(`OK for a process that is ${this.#phase}`);
  }

  #running(): void {
    this.#deadline?.clear();
    const started = this.#started;
    this.#started = null;
    if (this.#phase === 'starting') this.#phase = 'running';
    started?.resolve();
  }

  #onFail(failure: GuestFailure): void {
    const error = failureError('exec', failure);
    if (this.#phase === 'running' && this.#retained === null) throw violation('FAIL of a running process');
    if (this.#phase === 'exited') throw violation('FAIL after EXITED');
    if (this.#retained !== null && this.#handlers === null) {
      this.#unheard = failure;
      return this.#session.forget(this.stream, 0);
    }
    if (this.#phase !== 'spawning') this.#handlers?.onFail(failure);
    this.#end(error);
  }

  #onExited(payload: Buffer): void {
    if (this.#phase === 'spawning') throw violation('EXITED before SPAWNED');
    if (this.#exit !== null) throw violation('EXITED twice');
    const exit = parseExit(payload);
    this.#exit = Buffer.from(payload);
    this.#phase = 'exited';
    this.#running();
    if (this.#handlers === null) return;
    this.#exitHeard = true;
    this.#handlers.onExit(exit);
  }

  #onEof(chan: number, final: number): void {
    if (this.#output().finish(chan, final)) this.#handlers?.onEof(chan as 1 | 2, final);
  }

  /** Brings both sides together again after a reconnect. */
  #resync(state: RetainedState): void {
    this.#retained = state;
    if (state.exit !== null && this.#exit === null) this.#onExited(state.exit);
    else if (state.exit === null && this.#exit !== null) throw violation('an exited process runs again');
    if (state.phase === 'waiting' && this.#phase === 'starting') {
      this.#session.sendShort(FRAME.START, this.stream);
      this.#await('START');
    } else if (state.phase === 'waiting' ? this.#phase !== 'waiting' : this.#phase === 'waiting') {
      throw violation(`a process that is ${this.#phase} is said to be ${state.phase}`);
    } else if (this.#phase === 'starting') {
      this.#deadline = new Deadline(STARTED_MS, this.#session, () => this.#running());
      this.#deadline.arm();
    }
    if (this.#in !== null) {
      if (state.received === null) throw violation('stdin is no stream any more');
      this.#in.resume(state.received);
    }
    this.#out?.rewind(state);
    this.#out?.tellAll();
  }

  #vanished(): void {
    const message = 'the guest lost sight of the process when the connection broke';
    if (this.#phase !== 'spawning') this.#handlers?.onFail({ errno: 0, stage: 0, message });
    this.#end(new VivError('connection_lost', message));
  }

  #await(what: string): void {
    this.#deadline = new Deadline(ANSWER_MS, this.#session, () => {
      const error = new VivError('request_timeout', `no answer to ${what} within ${ANSWER_MS} ms`);
      this.#session.sendShort(FRAME.CANCEL, this.stream);
      this.#end(error);
    });
    this.#deadline.arm();
  }

  /** Over: pending promises reject (`error` null: there are none). */
  #end(error: VivError | null): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#failure = error;
    this.#handlers = null;
    this.#deadline?.clear();
    this.#session.forget(this.stream, this.#out?.outstanding ?? 0);
    this.#in?.abandon(error ?? new VivError('exec_not_running', 'the process has ended'));
    const spawned = this.#spawned;
    const started = this.#started;
    this.#spawned = null;
    this.#started = null;
    if (error) {
      spawned?.reject(error);
      started?.reject(error);
    }
  }

  #tell(say: () => void): void {
    if (this.#phase === 'over') return;
    if (this.#session.connected) return say();
    this.#deferred ??= [];
    if (this.#deferred.length < DEFERRED_MAX) this.#deferred.push(say);
  }
}
