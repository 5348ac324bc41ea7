import { type Exec, VivError } from '@vivarium/protocol';
import type { ExecStream, StreamOptions } from '../edge.ts';
import type { OutputReader } from './output-reader.ts';
import type { RunningExec } from './running-exec.ts';

/** A client's view of one running command. Closing it leaves the command running. */
export class LiveExecStream implements ExecStream {
  readonly done: Promise<Exec>;
  readonly #exec: RunningExec;
  readonly #readers: OutputReader[];

  constructor(exec: RunningExec, options: StreamOptions, from: { stdout: number; stderr: number }) {
    this.#exec = exec;
    const handlers = (sub: 1 | 2) => ({
      onData: (offset: number, chunk: Uint8Array) => options.onData(sub, offset, chunk),
      onGap: (start: number, end: number) => options.onGap(sub, start, end),
    });
    this.#readers = [exec.stdout.attach(from.stdout, handlers(1)), exec.stderr.attach(from.stderr, handlers(2))];
    this.done = Promise.all([exec.recorded, ...this.#readers.map((reader) => reader.done)]).then(() => exec.view());
    // A client that left does not wait for it.
    this.done.catch(() => {});
  }

  get exec(): Exec {
    return this.#exec.view();
  }

  async write(chunk: Uint8Array): Promise<void> {
    this.#exec.box.touch();
    await this.#stdin().write(chunk);
  }

  async closeStdin(): Promise<void> {
    this.#stdin().closeStdin();
  }

  close(): void {
    for (const reader of this.#readers) reader.close();
  }

  #stdin() {
    const { process, asked, endRecord, id } = this.#exec;
    if (endRecord || !process) throw new VivError('exec_not_running', `exec ${id} is not running`, { details: { id } });
    if (asked.stdin !== 'stream' && !asked.pty) {
      throw new VivError('invalid_argument', `exec ${id} was started without a stdin stream`, {
        details: { id, field: 'stdin' },
      });
    }
    return process;
  }
}
