import { VivError } from '@vivarium/protocol';
import type { Cell, CellOptions } from '../cell/cell.ts';
import type { CellProcess, ProcessHandlers, RetainedProcess, SpawnRequest } from '../cell/cell-process.ts';

/**
 * A guest in memory, for tests of the edge's own logic. It keeps what a real one keeps: processes, unacknowledged output and exits
 * survive a new connection. Programs: `true`, `exit N`, `kill N`, `print TEXT`, `write N` (bytes of "x"), `wait` (until a signal),
 * `missing`, `nouser`.
 */
export class FakeGuest {
  readonly processes = new Map<number, FakeProcess>();
  spawned = 0;
  alive = true;
  onLost: (error: VivError) => void = () => {};

  /** In place of Cell.open. */
  readonly open = async (options: CellOptions): Promise<Cell> => {
    this.onLost = options.onLost;
    return new FakeCell(this) as unknown as Cell;
  };

  process(tag: string): FakeProcess {
    const found = [...this.processes.values()].find((each) => each.tag.toString() === tag);
    if (!found) throw new Error(`no process ${tag}`);
    return found;
  }
}

class FakeCell {
  readonly #guest: FakeGuest;
  readonly #retained: Map<number, FakeProcess>;

  constructor(guest: FakeGuest) {
    this.#guest = guest;
    this.#retained = new Map(guest.processes);
    for (const process of guest.processes.values()) process.disconnect();
  }

  async spawn(request: SpawnRequest): Promise<CellProcess> {
    if (request.argv[0] === 'nouser')
      throw new VivError('user_unknown', 'no such user', { details: { stage: 4, errno: 2 } });
    const process = new FakeProcess(this.#guest, request);
    this.#guest.processes.set(process.pid, process);
    return process;
  }

  setPaused(): void {}

  retained(): RetainedProcess[] {
    return [...this.#retained.values()].map((process) => process.retained());
  }

  resumeProcess(
    retained: RetainedProcess,
    resume: { out1: number; out2: number },
    handlers: ProcessHandlers,
  ): CellProcess {
    const process = this.#retained.get(retained.stream)!;
    this.#retained.delete(retained.stream);
    process.resume(resume.out1, handlers);
    return process;
  }

  retainedListeners() {
    return [];
  }

  async processes() {
    return [];
  }

  close(): void {
    for (const process of this.#guest.processes.values()) process.disconnect();
  }
}

const WINDOW = 65_536;

export class FakeProcess implements CellProcess {
  readonly pid: number;
  readonly tag: Buffer;
  readonly #guest: FakeGuest;
  readonly #argv: string[];
  #handlers: ProcessHandlers | null;
  #phase: RetainedProcess['phase'] = 'waiting';
  #output = Buffer.alloc(0);
  #sent = 0;
  #acked = 0;
  #limit = WINDOW;
  #eof = false;
  #exit: { kind: 'exited' | 'signaled'; code: number } | null = null;
  #told = false;
  stdin = '';
  released = false;

  constructor(guest: FakeGuest, request: SpawnRequest) {
    this.#guest = guest;
    this.pid = 10 + ++guest.spawned;
    this.tag = Buffer.from(request.tag);
    this.#argv = request.argv.map(String);
    this.#handlers = request.handlers;
  }

  get acked(): number {
    return this.#acked;
  }

  async start(): Promise<void> {
    const [program, argument = ''] = this.#argv;
    if (program === 'missing') {
      this.#guest.processes.delete(this.pid);
      this.#handlers?.onFail({ errno: 2, stage: 6, message: 'No such file or directory' });
      throw new VivError('spawn_failed', 'missing', { details: { stage: 6, errno: 2, exitCode: 127 } });
    }
    this.#phase = 'running';
    if (program === 'wait') return;
    queueMicrotask(() => {
      if (program === 'print') this.print(argument);
      if (program === 'write') this.print('x'.repeat(Number(argument)));
      if (program === 'kill') this.exit('signaled', Number(argument));
      else this.exit('exited', program === 'exit' ? Number(argument) : 0);
    });
  }

  /** The program writes to stdout. */
  print(text: string): void {
    this.#output = Buffer.concat([this.#output, Buffer.from(text)]);
    this.#pump();
  }

  exit(kind: 'exited' | 'signaled', code: number): void {
    if (this.#exit) return;
    this.#exit = { kind, code };
    this.#phase = 'exited';
    this.#eof = true;
    this.#pump();
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.stdin += Buffer.from(chunk).toString();
  }

  closeStdin(): void {
    this.stdin += '<eof>';
  }

  signal(signal: number): void {
    this.exit('signaled', signal);
  }

  killTree(): void {
    this.exit('signaled', 9);
  }

  resize(): void {}

  ack(chan: 1 | 2, offset: number, limit: number): void {
    if (chan !== 1) return;
    this.#acked = Math.max(this.#acked, offset);
    this.#limit = Math.max(this.#limit, limit);
    this.#pump();
  }

  release(): void {
    this.released = true;
    this.#guest.processes.delete(this.pid);
  }

  cancel(): void {
    this.#guest.processes.delete(this.pid);
  }

  disconnect(): void {
    this.#handlers = null;
    this.#told = false;
  }

  retained(): RetainedProcess {
    const out1 = { base: this.#acked, end: this.#output.length, eof: this.#eof };
    return {
      stream: this.pid,
      pid: this.pid,
      phase: this.#phase,
      tag: this.tag,
      out1,
      out2: { base: 0, end: 0, eof: this.#eof },
      received: this.stdin.length,
    };
  }

  resume(from: number, handlers: ProcessHandlers): void {
    this.#handlers = handlers;
    this.#acked = from;
    this.#sent = from;
    this.#limit = from + WINDOW;
    queueMicrotask(() => this.#pump());
  }

  /** Sends what credit allows, then the end. */
  #pump(): void {
    const handlers = this.#handlers;
    if (!handlers) return;
    const end = Math.min(this.#output.length, this.#limit);
    if (end > this.#sent) {
      const chunk = this.#output.subarray(this.#sent, end);
      const offset = this.#sent;
      this.#sent = end;
      handlers.onData(1, offset, chunk);
    }
    if (!this.#exit || this.#told || this.#sent < this.#output.length) return;
    this.#told = true;
    handlers.onExit({ ...this.#exit, utimeUs: 1000, stimeUs: 2000, maxRssKiB: 512 });
    handlers.onEof(1, this.#output.length);
    handlers.onEof(2, 0);
  }
}
