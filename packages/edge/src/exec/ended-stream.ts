import { type Exec, VivError } from '@vivarium/protocol';
import type { ExecStream, StreamOptions } from '../edge.ts';
import type { KeptOutput } from '../journal/kept-output.ts';
import type { EndedExec } from './ended-execs.ts';
import { OutputReader } from './output-reader.ts';

/** The same view of a command that has ended: what was kept of its output, then its end. */
export class EndedExecStream implements ExecStream {
  readonly exec: Exec;
  readonly done: Promise<Exec>;
  readonly #readers: OutputReader[];

  constructor(ended: EndedExec, options: StreamOptions, from: { stdout: number; stderr: number }) {
    this.exec = ended.exec;
    const reader = (sub: 1 | 2, kept: KeptOutput, received: number, offset: number) => {
      const source = { kept, received, ended: true, settle: () => {} };
      const made = new OutputReader(source, Math.min(offset, received), {
        onData: (at, chunk) => options.onData(sub, at, chunk),
        onGap: (start, end) => options.onGap(sub, start, end),
      });
      made.wake();
      return made;
    };
    this.#readers = [
      reader(1, ended.stdout, ended.exec.stdout.bytes, from.stdout),
      reader(2, ended.stderr, ended.exec.stderr.bytes, from.stderr),
    ];
    this.done = Promise.all(this.#readers.map(({ done }) => done)).then(() => ended.exec);
  }

  async write(): Promise<void> {
    throw new VivError('exec_not_running', `exec ${this.exec.id} has ended`, { details: { id: this.exec.id } });
  }

  async closeStdin(): Promise<void> {}

  close(): void {
    for (const reader of this.#readers) reader.close();
  }
}
