import { VivError } from '@vivarium/protocol';
import type { CellProcess, ProcessHandlers, RetainedProcess, SpawnRequest } from './cell-process.ts';
import { failureError, type GuestFailure, parseFailure } from './failure.ts';
import { FRAME, readOffset, violation } from './frame.ts';
import type { CellStream } from './link.ts';
import { ProcessAnswers } from './process-answers.ts';
import { ProcessControls } from './process-controls.ts';
import { ProcessEvents } from './process-events.ts';
import { parseExit } from './process-exit.ts';
import { ProcessInput } from './process-input.ts';
import { ProcessOutput } from './process-output.ts';
import { type RetainedState, retainedProcess } from './retained-state.ts';
import type { Session } from './session.ts';
import { spawnFrame } from './spawn-frame.ts';

/** spawning: SPAWN sent. waiting: the child exists. starting: START sent. over: no handler is called any more. */
type Phase = 'spawning' | 'waiting' | 'starting' | 'running' | 'exited' | 'over';

export const WINDOW_DEFAULT = 65_536;

/** A process in the guest: its life from SPAWN to RELEASE, across connections. */
export class GuestProcess implements CellStream, CellProcess {
  readonly #session: Session;
  readonly stream: number;
  readonly #events: ProcessEvents;
  #phase: Phase = 'spawning';
  #pid = 0;
  /** null until a retained process is claimed. */
  #out: ProcessOutput | null = null;
  #in: ProcessInput | null = null;
  #failure: VivError | null = null;
  readonly #controls: ProcessControls;
  readonly #answers: ProcessAnswers;
  /** As the guest last described it; null for processes of this session. */
  #retained: RetainedState | null = null;

  constructor(session: Session, stream: number | null, handlers: ProcessHandlers | null) {
    this.#session = session;
    this.#events = new ProcessEvents(handlers);
    this.stream = stream ?? session.add(this);
    this.#controls = new ProcessControls(session, this.stream);
    this.#answers = new ProcessAnswers(session, this.stream, (error) => this.#end(error));
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
    if (request.stdin || request.pty) process.#in = new ProcessInput(session, process.stream);
    return process.#answers.spawned();
  }

  /** A process that an earlier session left: it sends nothing until `claim`. */
  static adopt(session: Session, state: RetainedState): GuestProcess {
    const process = new GuestProcess(session, state.stream, null);
    process.#pid = state.pid;
    process.#phase = state.phase;
    if (state.exit !== null) process.#events.exited(parseExit(state.exit));
    process.#retained = state;
    if (state.received !== null) process.#in = new ProcessInput(session, state.stream, state.received);
    return process;
  }

  /** null once it is claimed or over. */
  get retained(): RetainedProcess | null {
    const state = this.#retained;
    if (state === null || this.#events.claimed || this.#phase === 'over') return null;
    return retainedProcess({ ...state, phase: this.#phase as RetainedProcess['phase'] });
  }

  /** Takes over a retained process from what the caller has kept. */
  claim(
    kept: { out1: number; out2: number; in: number; window?: number | undefined },
    handlers: ProcessHandlers,
  ): void {
    const state = this.#retained as RetainedState;
    this.#events.claim(handlers);
    if (this.#in !== null) this.#in.goOn(kept.in);
    else if (kept.in > 0) throw new VivError('state_conflict', 'the process has no stdin that could go on');
    this.#out = ProcessOutput.goOn(this.#session, state, kept, kept.window ?? WINDOW_DEFAULT);
    const failure = this.#events.untoldFailure;
    if (failure === null) this.#out.tellAll();
    process.nextTick(() => {
      this.#events.catchUp();
      if (failure !== null) this.#end(failureError('exec', failure));
    });
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
    return this.#answers.started();
  }

  write(chunk: Uint8Array): Promise<void> {
    if (this.#phase !== 'over' && this.#in !== null) return this.#in.write(chunk);
    return Promise.reject(new VivError('exec_not_running', 'the process has no open stdin'));
  }

  closeStdin(): void {
    if (this.#phase !== 'over') this.#in?.close();
  }

  signal(signal: number, scope: 'process' | 'group' = 'process'): void {
    if (this.#phase !== 'over') this.#controls.signal(signal, scope);
  }

  resize(rows: number, cols: number): void {
    if (this.#phase !== 'over') this.#controls.resize(rows, cols);
  }

  killTree(): void {
    if (this.#phase !== 'over') this.#controls.killTree();
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
    if (this.#phase === 'starting') this.#running();
    if (repeats < piece.length) {
      this.#events.data(chan as 1 | 2, offset + repeats, repeats > 0 ? piece.subarray(repeats) : piece);
    }
    if (this.#phase !== 'over') out.tellIfDue(chan);
  }

  disconnected(): boolean {
    this.#answers.suspend();
    return true;
  }

  reconnected(state: RetainedState | null): void {
    if (state === null) return this.#vanished();
    if (state.kind !== 'process') throw violation(`STATE says ${state.kind} about a process`);
    if (this.#phase === 'spawning') this.#onSpawned(state.pid);
    else if (state.pid !== this.#pid) throw violation(`pid ${this.#pid} became ${state.pid}`);
    this.#resync(state);
    this.#controls.sayDeferred();
  }

  lost(error: VivError): void {
    this.#end(error);
  }

  // ---- inside

  #output(): ProcessOutput {
    if (this.#out === null || this.#phase === 'spawning') throw violation(`output of a process that is ${this.#phase}`);
    return this.#out;
  }

  #onSpawned(pid: number): void {
    if (this.#phase !== 'spawning') throw violation('SPAWNED twice');
    if (pid < 1) throw violation('a pid of 0');
    this.#phase = 'waiting';
    this.#pid = pid;
    this.#answers.giveSpawned(this);
  }

  #onOk(payload: Buffer): void {
    if (payload.length > 0) throw violation('OK of an exec with a payload');
    if (this.#phase === 'starting') this.#running();
    // The answer to a START from before a reconnect.
    else if (this.#retained === null) throw violation(`OK for a process that is ${this.#phase}`);
  }

  #running(): void {
    if (this.#phase === 'starting') this.#phase = 'running';
    this.#answers.giveStarted();
  }

  #onFail(failure: GuestFailure): void {
    const error = failureError('exec', failure);
    if (this.#phase === 'running' && this.#retained === null) throw violation('FAIL of a running process');
    if (this.#phase === 'exited') throw violation('FAIL after EXITED');
    if (this.#phase !== 'spawning') this.#events.failed(failure);
    if (this.#events.claimed) this.#end(error);
    else this.#session.forget(this.stream, 0);
  }

  #onExited(payload: Buffer): void {
    if (this.#phase === 'spawning') throw violation('EXITED before SPAWNED');
    if (this.#phase === 'exited') throw violation('EXITED twice');
    const exit = parseExit(payload);
    this.#phase = 'exited';
    this.#running();
    this.#events.exited(exit);
  }

  #onEof(chan: number, final: number): void {
    if (this.#output().finish(chan, final)) this.#events.eof(chan as 1 | 2, final);
  }

  /** Brings both sides together again after a reconnect. */
  #resync(state: RetainedState): void {
    this.#retained = state;
    if (state.exit !== null && this.#phase !== 'exited') this.#onExited(state.exit);
    else if (state.exit === null && this.#phase === 'exited') throw violation('an exited process runs again');
    if (state.phase === 'waiting' && this.#phase === 'starting') {
      this.#answers.askAgain();
    } else if (state.phase === 'waiting' ? this.#phase !== 'waiting' : this.#phase === 'waiting') {
      throw violation(`a process that is ${this.#phase} is said to be ${state.phase}`);
    } else if (this.#phase === 'starting') {
      this.#answers.startedSoon(() => this.#running());
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
    if (this.#phase !== 'spawning') this.#events.failed({ errno: 0, stage: 0, message });
    this.#end(new VivError('connection_lost', message));
  }

  /** Over: pending promises reject (`error` null: there are none). */
  #end(error: VivError | null): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#failure = error;
    this.#events.silence();
    this.#answers.end(error);
    this.#session.forget(this.stream, this.#out?.outstanding ?? 0);
    this.#in?.abandon(error ?? new VivError('exec_not_running', 'the process has ended'));
  }
}
