import type { Duplex } from 'node:stream';
import { type ProcessInfo, VivError } from '@vivarium/protocol';
import type { GuestConfig } from '../drivers/driver.ts';
import { CellFiles } from './cell-files.ts';
import type { CellListener, ListenOptions, RetainedListener } from './cell-listener.ts';
import type { CellProcess, ProcessHandlers, RetainedProcess, SpawnRequest } from './cell-process.ts';
import { FRAME, violation } from './frame.ts';
import { GuestListener } from './guest-listener.ts';
import { GuestProcess } from './guest-process.ts';
import type { CellStream } from './link.ts';
import { PORT_WINDOW, PortStream } from './port-stream.ts';
import { PROCESS_BYTES_MAX, parseProcess } from './process-record.ts';
import { RecordStream } from './record-stream.ts';
import type { RetainedState } from './retained-state.ts';
import { Session } from './session.ts';
import { payloadFrame } from './short-frame.ts';
import { connectFrame, type Endpoint, listenFrame, parseListening } from './socket-frame.ts';

export type CellOptions = {
  /** A fresh connection each time; rejects with `sandbox_lost` when PID 1 is gone. */
  connect: () => Promise<Duplex>;
  /** Sent once per boot of the guest. */
  config: GuestConfig;
  /** Called once; everything pending has been rejected by then and no handler of a process is called any more. */
  onLost: (error: VivError) => void;
  /** Called before `open` resolves, with what an earlier connection left (if anything). */
  onRetained?: (retained: RetainedProcess[]) => void;
};

/** What is known of streams that an earlier session left and nobody has taken over yet. */
type Leftovers = { processes: Map<number, GuestProcess>; listeners: Map<number, GuestListener> };

/**
 * The host's end of the guest protocol (docs/guest-protocol.md): one sandbox, one byte stream. Reconnects by itself while the guest
 * lives: processes and listeners go on as if nothing had happened, everything else fails with `connection_lost`.
 */
export class Cell extends CellFiles {
  readonly #leftovers: Leftovers;

  private constructor(session: Session, leftovers: Leftovers) {
    super(session);
    this.#leftovers = leftovers;
  }

  /** Connects and configures. Rejects with `sandbox_lost`, `request_timeout` or what CONFIG failed with. */
  static async open(options: CellOptions): Promise<Cell> {
    const leftovers: Leftovers = { processes: new Map(), listeners: new Map() };
    const session: Session = new Session({
      connect: options.connect,
      config: options.config,
      onLost: options.onLost,
      adopt: (state) => adopt(session, leftovers, state),
      opened,
    });
    await session.open();
    const cell = new Cell(session, leftovers);
    const retained = cell.retained();
    if (retained.length > 0) options.onRetained?.(retained);
    return cell;
  }

  get bootNonce(): Uint8Array {
    return this.session.bootNonce;
  }

  get stats(): { bytesUp: number; bytesDown: number; reconnects: number; protocolErrors: number } {
    return this.session.stats;
  }

  /** Resolves when the child exists and waits for `start()`. Errors: `spawn_failed`, `user_unknown`, `too_many_requests` … */
  async spawn(request: SpawnRequest): Promise<CellProcess> {
    const wait = this.session.whenUp();
    if (wait) await wait;
    return GuestProcess.spawn(this.session, request);
  }

  /** Processes that an earlier connection left and nobody has resumed yet. */
  retained(): RetainedProcess[] {
    return [...this.#leftovers.processes.values()].flatMap((process) => process.retained ?? []);
  }

  /**
   * Takes over a retained process. `out1`, `out2`: output the caller has kept; it gets what follows (a gap shows in the offset). `in`:
   * position of its next write; bytes the guest has already are skipped.
   */
  resumeProcess(
    retained: RetainedProcess,
    resume: { out1: number; out2: number; in: number; window?: number },
    handlers: ProcessHandlers,
  ): CellProcess {
    const process = this.#leftovers.processes.get(retained.stream);
    if (!process)
      throw new VivError('state_conflict', `the process of stream ${retained.stream} is not waiting to be resumed`);
    process.claim(resume, handlers);
    this.#leftovers.processes.delete(retained.stream);
    return process;
  }

  /** Listeners that an earlier connection left. Resume each, if only to `close()` it. */
  retainedListeners(): RetainedListener[] {
    return [...this.#leftovers.listeners.values()].map((listener) => listener.retained);
  }

  resumeListener(retained: RetainedListener): CellListener {
    const listener = this.#leftovers.listeners.get(retained.stream);
    if (!listener)
      throw new VivError('state_conflict', `the listener of stream ${retained.stream} is not waiting to be resumed`);
    this.#leftovers.listeners.delete(retained.stream);
    return listener;
  }

  /** `port_closed` when nothing listens. `localhost` tries 127.0.0.1, then ::1. */
  connectTcp(port: number, host?: string, signal?: AbortSignal): Promise<Duplex> {
    return this.#connect({ family: 'tcp', port, host }, `connect to port ${port}`, signal);
  }

  connectUnix(path: Uint8Array, signal?: AbortSignal): Promise<Duplex> {
    return this.#connect({ family: 'unix', path }, `connect to ${Buffer.from(path)}`, signal);
  }

  /** Port 0: the guest picks one. `state_conflict` when it is taken. */
  listenTcp(port: number, options: ListenOptions = {}): Promise<CellListener> {
    return this.#listen({ family: 'tcp', port, host: options.host }, options, `listen on port ${port}`);
  }

  listenUnix(path: Uint8Array, options: ListenOptions = {}): Promise<CellListener> {
    return this.#listen({ family: 'unix', path }, options, `listen on ${Buffer.from(path)}`);
  }

  async processes(): Promise<ProcessInfo[]> {
    await this.session.whenUp();
    const build = (stream: number): Buffer => payloadFrame(FRAME.PROCS, stream, new Uint8Array(0));
    const records = new RecordStream(this.session, PROCESS_BYTES_MAX, parseProcess, build, {
      what: 'list of processes',
    });
    const all: ProcessInfo[] = [];
    for await (const record of records) all.push(record);
    return all;
  }

  /** Resolves when PID 1 has answered. */
  ping(): Promise<void> {
    return this.session.ping();
  }

  /** Sets the guest's clock (VMs; containers share the host's and answer EPERM). */
  async syncClock(unixNs: bigint): Promise<void> {
    const payload = Buffer.alloc(8);
    payload.writeBigUInt64LE(unixNs);
    await this.session.request((stream) => payloadFrame(FRAME.CLOCK, stream, payload), { what: 'clock' }, nothing);
  }

  /** 32 to 256 random bytes for the guest's entropy pool. */
  async reseed(random: Uint8Array): Promise<void> {
    await this.session.request((stream) => payloadFrame(FRAME.RESEED, stream, random), { what: 'reseed' }, nothing);
  }

  /** SIGTERM to all, SIGKILL after graceMs, then PID 1 exits (onLost follows); does not wait for it. */
  async shutdown(graceMs: number): Promise<void> {
    await this.session.whenUp();
    this.session.sendShort(FRAME.SHUTDOWN, 0, graceMs);
  }

  /** Frozen, or about to be: a frozen guest can't answer, so waits don't count while it holds. */
  setPaused(paused: boolean): void {
    this.session.paused = paused;
  }

  /** Drops the connection; the guest and its processes live on. onLost is not called, nor any handler. */
  close(error?: VivError): void {
    this.session.close(error);
  }

  async #connect(target: Endpoint, what: string, signal: AbortSignal | undefined): Promise<Duplex> {
    await this.session.whenUp();
    return PortStream.connect(this.session, (stream) => connectFrame(target, PORT_WINDOW, stream), { what, signal });
  }

  async #listen(target: Endpoint, options: ListenOptions, what: string): Promise<CellListener> {
    const tag = options.tag ?? new Uint8Array(0);
    let id = 0;
    const build = (stream: number): Buffer => {
      id = stream;
      return listenFrame(target, options, stream);
    };
    const listen = (payload: Buffer): GuestListener => {
      const listener = new GuestListener(this.session, id, parseListening(payload), tag, options.window);
      this.session.place(id, listener);
      return listener;
    };
    return this.session.request(build, { what }, listen);
  }
}

function adopt(session: Session, leftovers: Leftovers, state: RetainedState): CellStream {
  if (state.kind === 'process') {
    const process = GuestProcess.adopt(session, state);
    leftovers.processes.set(state.stream, process);
    return process;
  }
  const listener = new GuestListener(session, state.stream, 0, state.tag);
  leftovers.listeners.set(state.stream, listener);
  return listener;
}

function opened(listener: CellStream, stream: number): void {
  if (!(listener instanceof GuestListener)) throw violation('OPENED by something that is no listener');
  listener.opened(stream);
}

function nothing(payload: Buffer): void {
  if (payload.length > 0) throw violation('OK with a payload that nothing asked for');
}
