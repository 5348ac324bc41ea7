import type { ExecService, ExecStream, Idempotency, PageOf, PageRequest, StreamOptions } from '@vivarium/edge/edge.ts';
import {
  type Exec,
  type ExecResult,
  type ExecStart,
  type Outcome,
  type SignalRequest,
  VivError,
  type WinSize,
} from '@vivarium/protocol';
import { AT, type FakeSandboxes, fakeId } from './fake-sandboxes.ts';

const CHUNK_BYTES = 65_536;

/**
 * Programs: `true`, `echo WORDS`, `cat` (stdin to stdout), `flood BYTES` (zeros) and `sleep` (until it is signalled or
 * canceled). Counts what is produced, so that a test can see how far ahead of its reader the server runs.
 */
export class FakeExecs implements ExecService {
  readonly rows = new Map<string, Exec>();
  readonly signals: SignalRequest[] = [];
  readonly sizes: WinSize[] = [];
  readonly idempotencies: (Idempotency | undefined)[] = [];
  produced = 0;
  streams = 0;
  readonly #sandboxes: FakeSandboxes;
  readonly #endings = new Map<string, (outcome: Outcome) => void>();

  constructor(sandboxes: FakeSandboxes) {
    this.#sandboxes = sandboxes;
  }

  async run(sandbox: string, start: ExecStart, idempotency?: Idempotency): Promise<ExecResult> {
    this.#sandboxes.alive(sandbox);
    this.idempotencies.push(idempotency);
    const exec = this.#add(sandbox, start);
    if (start.detach) return { ...exec, stdoutB64: '', stderrB64: '' };
    const output = (start.argv ?? [])[0] === 'echo' ? `${start.argv!.slice(1).join(' ')}\n` : '';
    const ended = this.#end(exec.id, { type: 'exited', code: 0 });
    return { ...ended, stdoutB64: Buffer.from(output).toString('base64'), stderrB64: '' };
  }

  async start(
    sandbox: string,
    start: ExecStart,
    options: StreamOptions,
    idempotency?: Idempotency,
  ): Promise<ExecStream> {
    this.#sandboxes.alive(sandbox);
    this.idempotencies.push(idempotency);
    return this.#stream(this.#add(sandbox, start), options, 0);
  }

  async attach(
    sandbox: string,
    exec: string,
    options: StreamOptions & { stdoutOffset: number; stderrOffset: number },
  ): Promise<ExecStream> {
    return this.#stream(this.#row(sandbox, exec), options, options.stdoutOffset);
  }

  get = async (sandbox: string, exec: string) => this.#row(sandbox, exec);
  result = async (sandbox: string, exec: string) => ({ ...this.#row(sandbox, exec), stdoutB64: '', stderrB64: '' });

  async list(sandbox: string, page: PageRequest): Promise<PageOf<Exec>> {
    return {
      items: [...this.rows.values()].filter((row) => row.sandbox === sandbox).slice(0, page.limit),
      nextCursor: null,
    };
  }

  running = (sandbox: string) => {
    this.#sandboxes.alive(sandbox);
    return [...this.rows.values()].filter((row) => row.sandbox === sandbox && row.state !== 'ended');
  };

  async signal(sandbox: string, exec: string, request: SignalRequest): Promise<void> {
    if (this.#row(sandbox, exec).state === 'ended') throw new VivError('exec_not_running', `exec ${exec} has ended`);
    this.signals.push(request);
    this.#endings.get(exec)?.({ type: 'signaled', signal: 15 });
  }

  async resize(sandbox: string, exec: string, size: WinSize): Promise<void> {
    this.#row(sandbox, exec);
    this.sizes.push(size);
  }

  async cancel(sandbox: string, exec: string): Promise<void> {
    this.#row(sandbox, exec);
    this.#endings.get(exec)?.({ type: 'canceled' });
    this.#end(exec, { type: 'canceled' });
  }

  #stream(exec: Exec, options: StreamOptions, from: number): ExecStream {
    this.streams++;
    let closed = false;
    const input = new Input();
    const until = new Promise<Outcome>((resolve) => this.#endings.set(exec.id, resolve));
    const play = async (): Promise<Exec> => {
      const [program, size = '0'] = exec.argv;
      if (program === 'flood') await this.#flood(Number(size), from, options, () => closed);
      if (program === 'gap') options.onGap(1, from, from + 10);
      if (program === 'echo') await options.onData(1, 0, Buffer.from(`${exec.argv.slice(1).join(' ')}\n`));
      let offset = 0;
      if (program === 'cat') for await (const chunk of input.chunks()) offset = await give(options, offset, chunk);
      const outcome: Outcome = program === 'sleep' ? await until : { type: 'exited', code: 0 };
      return this.#end(exec.id, outcome);
    };
    return {
      exec,
      done: play(),
      write: (chunk) => input.write(Buffer.from(chunk)),
      closeStdin: async () => input.end(),
      close: () => {
        closed = true;
        this.streams--;
      },
    };
  }

  async #flood(total: number, from: number, options: StreamOptions, stopped: () => boolean): Promise<void> {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    for (let offset = from; offset < total && !stopped(); offset += CHUNK_BYTES) {
      const part = chunk.subarray(0, Math.min(CHUNK_BYTES, total - offset));
      this.produced += part.length;
      await options.onData(1, offset, part);
    }
  }

  #add(sandbox: string, start: ExecStart): Exec {
    const none = { bytes: 0, keptBytes: 0, truncated: false, sha256: null };
    const exec: Exec = {
      id: fakeId(),
      sandbox,
      seq: this.rows.size,
      argv: start.argv ?? ['/bin/sh', '-c', start.command!],
      user: start.user ?? null,
      cwd: start.cwd ?? null,
      pty: start.pty !== undefined,
      label: start.label ?? null,
      state: 'running',
      pid: 7,
      startedAt: AT,
      endedAt: null,
      durationMs: null,
      outcome: null,
      exitCode: null,
      message: null,
      annotations: [],
      stdout: none,
      stderr: none,
      cpuMs: null,
      maxRssKiB: null,
    };
    this.rows.set(exec.id, exec);
    return exec;
  }

  #end(id: string, outcome: Outcome): Exec {
    const exec: Exec = {
      ...this.rows.get(id)!,
      state: 'ended',
      endedAt: AT,
      durationMs: 1,
      outcome,
      exitCode: outcome.type === 'exited' ? outcome.code : 143,
    };
    this.rows.set(id, exec);
    return exec;
  }

  #row(sandbox: string, exec: string): Exec {
    this.#sandboxes.get(sandbox);
    const row = this.rows.get(exec);
    if (!row) throw new VivError('exec_not_found', `no exec ${exec}`);
    return row;
  }
}

async function give(options: StreamOptions, offset: number, chunk: Buffer): Promise<number> {
  await options.onData(1, offset, chunk);
  return offset + chunk.length;
}

/** Stdin with room for one chunk: write() resolves when the program took it. */
class Input {
  #pending: { chunk: Buffer; taken: () => void }[] = [];
  #ended = false;
  #wake = () => {};

  write(chunk: Buffer): Promise<void> {
    return new Promise((taken) => {
      this.#pending.push({ chunk, taken });
      this.#wake();
    });
  }

  end(): void {
    this.#ended = true;
    this.#wake();
  }

  async *chunks(): AsyncIterable<Buffer> {
    for (;;) {
      const item = this.#pending.shift();
      if (item) {
        yield item.chunk;
        item.taken();
      } else if (this.#ended) {
        return;
      } else {
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    }
  }
}
