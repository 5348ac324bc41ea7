import { VivError } from '@vivarium/protocol';
import type { CellProcess, ProcessExit, ProcessHandlers, RetainedProcess, SpawnRequest } from './cell-process.ts';
import { Deadline } from './deadline.ts';
import { failureError, type GuestFailure, parseFailure } from './failure.ts';
import { FRAME, readOffset, violation } from './frame.ts';
import { Inflow } from './inflow.ts';
import type { CellStream } from './link.ts';
import { Outflow } from './outflow.ts';
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
  #out1: Inflow | null = null;
  #out2: Inflow | null = null;
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
    const window = request.window ?? WINDOW_DEFAULT;
    process.#out1 = new Inflow(window);
    if (!request.pty && !request.mergeStderr) process.#out2 = new Inflow(window);
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
    const window = kept.window ?? WINDOW_DEFAULT;
    this.#out1 = continued(state.out1, kept.out1, window);
    this.#out2 = continued(state.out2, kept.out2, window);
    if (this.#unheard === null) this.#sayWindows();
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
    const flow = chan === 1 ? this.#out1 : this.#out2;
    if (flow === null || this.#phase === 'over') return;
    flow.grant(offset, limit);
    if (flow.due) this.#sayWindow(chan, flow);
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
    const flow = this.#flow(chan);
    const repeats = flow.accept(offset, piece.length);
    if (this.#started) this.#running();
    if (repeats < piece.length) {
      this.#handlers?.onData(chan as 1 | 2, offset + repeats, repeats > 0 ? piece.subarray(repeats) : piece);
    }
    if (flow.due && this.#phase !== 'over') this.#sayWindow(chan, flow);
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

  #flow(chan: number): Inflow {
    const flow = chan === 1 ? this.#out1 : chan === 2 ? this.#out2 : null;
    if (flow === null || this.#phase === 'spawning' || this.#phase === 'waiting')
      throw violation(`output on channel ${chan}`);
    return flow;
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
    if (this.#flow(chan).finish(final)) this.#handlers?.onEof(chan as 1 | 2, final);
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
    this.#rewind(state.out1, this.#out1);
    this.#rewind(state.out2, this.#out2);
    if (this.#handlers) this.#sayWindows();
  }

  #rewind(output: RetainedState['out1'], flow: Inflow | null): void {
    if (flow === null) return;
    if (output === null || output.base > flow.acked || output.end < flow.received)
      throw violation('output that was not acknowledged is gone');
    flow.rewind();
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
    const late = [this.#out1, this.#out2].reduce((sum, flow) => sum + (flow?.outstanding ?? 0), 0);
    this.#session.forget(this.stream, late);
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
    if (this.#phase === 'over' || this.#phase === 'exited') return;
    if (this.#session.connected) return say();
    this.#deferred ??= [];
    if (this.#deferred.length < DEFERRED_MAX) this.#deferred.push(say);
  }

  #sayWindow(chan: number, flow: Inflow): void {
    flow.told();
    this.#session.sendWindow(chan, this.stream, flow.acked, flow.limit);
  }

  #sayWindows(): void {
    if (this.#out1) this.#sayWindow(1, this.#out1);
    if (this.#out2) this.#sayWindow(2, this.#out2);
  }
}

/** Goes on where the caller stopped; what the guest has no longer is a gap that `offset` shows. */
function continued(output: RetainedState['out1'], kept: number, window: number): Inflow | null {
  if (output === null) return null;
  const from = Math.min(Math.max(kept, output.base), output.end);
  return new Inflow(window, from);
}

function parseExit(payload: Buffer): ProcessExit {
  const kind = payload.readUInt32LE(0);
  const code = payload.readUInt32LE(4);
  if (kind > 1 || code > (kind === 0 ? 255 : 127)) throw violation(`exit of kind ${kind} with code ${code}`);
  return {
    kind: kind === 0 ? 'exited' : 'signaled',
    code,
    utimeUs: readOffset(payload, 8),
    stimeUs: readOffset(payload, 16),
    maxRssKiB: readOffset(payload, 24),
  };
}
