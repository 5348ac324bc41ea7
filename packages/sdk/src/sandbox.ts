import type { Exec } from '@vivarium/protocol/exec.ts';
import type { Image } from '@vivarium/protocol/image.ts';
import type { JournalRecord } from '@vivarium/protocol/journal.ts';
import type { PackReport, PackRequestInput } from '@vivarium/protocol/pack.ts';
import type {
  Change,
  ForkRequestInput,
  PauseRequestInput,
  ProcessInfo,
  Sandbox as SandboxInfo,
  SandboxState,
  SandboxUpdate,
  Stats,
} from '@vivarium/protocol/sandbox.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import type { Context } from './context.ts';
import { type CreateOptions, createSandbox } from './create-sandbox.ts';
import { events } from './events.ts';
import { type Command, defined, type ExecOptions, execStart, type SpawnOptions, splitStdin } from './exec-options.ts';
import type { ExecResult } from './exec-result.ts';
import { Files } from './files.ts';
import { Images } from './images.ts';
import { followLogs } from './journal.ts';
import { ndjson } from './ndjson.ts';
import { pages } from './page.ts';
import { Ports } from './ports.ts';
import { Process } from './process.ts';
import { idempotencyKey } from './retry.ts';
import type { Bench } from './verify/grade.ts';
import type { Verification, VerifyRequest } from './verify/request.ts';
import { verifySandbox } from './verify/verify.ts';

export type AttachOptions = {
  /** Absolute offsets to carry on from. Default 0: everything that is kept. */
  from?: { stdout?: number; stderr?: number };
  /** Will this side write to it? Default false. */
  stdin?: boolean;
  signal?: AbortSignal;
};

/** One sandbox. `await using` ends it when the block ends. */
export class Sandbox implements AsyncDisposable {
  readonly id: string;
  readonly files: Files;
  readonly ports: Ports;
  readonly #context: Context;
  #info: SandboxInfo | undefined;

  constructor(context: Context, id: string, info?: SandboxInfo) {
    this.id = id;
    this.#context = context;
    this.#info = info;
    this.files = new Files(context, id);
    this.ports = new Ports(context, id, () => this.#info?.token);
  }

  /** What the server last said about it; `refresh()` asks again. */
  get info(): SandboxInfo {
    if (!this.#info)
      throw new VivError('invalid_argument', `nothing is known of sandbox ${this.id} yet; call refresh()`);
    return this.#info;
  }

  /** The same, or undefined when nothing is known yet. */
  get known(): SandboxInfo | undefined {
    return this.#info;
  }

  get state(): SandboxState {
    return this.info.state;
  }

  /** Runs a command to its end. A string goes through /bin/sh -c; an array does not. Aborting the signal cancels the command. */
  async exec(command: Command, options: ExecOptions = {}): Promise<ExecResult> {
    const { inline, stream } = splitStdin(options.stdin);
    const exec = { ...execStart(command, options), ...(inline !== undefined && { stdin: inline }) };
    const process = await Process.open(
      this.#context,
      { sandbox: this.id, exec, stdin: stream !== undefined },
      options.signal,
    );
    const onAbort = () => void process.kill().catch(() => {});
    options.signal?.addEventListener('abort', onAbort, { once: true });
    try {
      // A command that ends without reading all of its input is no error.
      if (stream !== undefined)
        process
          .write(stream)
          .then(() => process.closeStdin())
          .catch(() => {});
      const result = await process.result();
      options.signal?.throwIfAborted();
      return options.throwOnError ? result.check() : result;
    } finally {
      options.signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Starts a command and streams: stdin, stdout, stderr or a terminal. */
  spawn(command: Command, options: SpawnOptions = {}): Promise<Process> {
    const stdin = options.stdin ?? Boolean(options.pty);
    return Process.open(this.#context, { sandbox: this.id, exec: execStart(command, options), stdin }, options.signal);
  }

  /** Starts a command and leaves it running. */
  start(command: Command, options: SpawnOptions = {}): Promise<Exec> {
    const json = { ...execStart(command, options), detach: true };
    return this.#http('POST', '/execs', { json, idempotencyKey: idempotencyKey(), signal: options.signal });
  }

  /** Takes up a command that runs or has run. */
  attach(execId: string, options: AttachOptions = {}): Promise<Process> {
    const { stdout = 0, stderr = 0 } = options.from ?? {};
    const request = {
      sandbox: this.id,
      exec: execId,
      stdin: options.stdin ?? false,
      stdoutOffset: stdout,
      stderrOffset: stderr,
    };
    return Process.open(this.#context, request, options.signal);
  }

  /** The sandbox's commands, running and ended. */
  execs(): AsyncGenerator<Exec> {
    return pages<Exec>(this.#context.http, `/v1/sandboxes/${this.id}/execs`);
  }

  async refresh(): Promise<this> {
    return this.#take(await this.#http('GET', ''));
  }

  /** Ends it and all that runs in it. Ending an ended one is fine. */
  async kill(): Promise<this> {
    return this.#take(await this.#http('DELETE', ''));
  }

  /**
   * Freezes every process and stops its clock: nothing but a call ends it. With `memory: false` its processes end, its files stay, and
   * resuming starts it anew over them. With `expires: true` its time to live goes on.
   */
  async pause(options: PauseRequestInput = {}): Promise<this> {
    return this.#take(await this.#http('POST', '/pause', { json: options, repeatable: true }));
  }

  /** Lets it run on, with its full time to live if its clock stood still. */
  async resume(): Promise<this> {
    return this.#take(await this.#http('POST', '/resume', { repeatable: true }));
  }

  /** Mounts a directory of an image (of one layer) in it, read-only, over what is there. */
  async mount(image: string, at: string, options: { from?: string } = {}): Promise<void> {
    await this.#http<undefined>('POST', '/mounts', { json: { image, at, ...options } });
  }

  async unmount(at: string): Promise<void> {
    await this.#http<undefined>('DELETE', '/mounts', { query: { at } });
  }

  /** Ends every process in it but those of running commands with one of these labels. */
  async sweep(options: { keepLabels?: string[] } = {}): Promise<number> {
    return (await this.#http<{ ended: number }>('POST', '/sweep', { json: options, repeatable: true })).ended;
  }

  async update(change: SandboxUpdate): Promise<this> {
    return this.#take(await this.#http('PATCH', '', { json: change }));
  }

  /** Ends this many seconds from now, whatever was said before. */
  setTimeout(ttlS: number): Promise<this> {
    return this.update({ ttlS });
  }

  /** Resolves when it is in one of the states (default: ended or failed). Ends are final, so waiting for another state then throws `sandbox_dead`. */
  async wait(
    states: SandboxState | SandboxState[] = ['ended', 'failed'],
    options: { signal?: AbortSignal } = {},
  ): Promise<this> {
    const wanted = [states].flat();
    const stop = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, stop.signal]) : stop.signal;
    const news = events(this.#context, { sandbox: this.id, signal });
    try {
      await news.ready;
      await this.refresh();
      if (this.#arrived(wanted)) return this;
      for await (const info of news) {
        this.#take(info);
        if (this.#arrived(wanted)) return this;
      }
      await this.refresh();
      if (this.#arrived(wanted)) return this;
      throw new VivError('connection_lost', `lost sight of sandbox ${this.id}`);
    } finally {
      stop.abort();
    }
  }

  stats(): Promise<Stats> {
    return this.#http('GET', '/stats');
  }

  /** What it used between two times (all that is known by default), oldest first: a sample every few seconds, older ones rarer. */
  async statsHistory(range: { from?: Date; to?: Date } = {}): Promise<Stats[]> {
    const query = defined({ from: range.from?.toISOString(), to: range.to?.toISOString() });
    return (await this.#http<{ items: Stats[] }>('GET', '/stats/history', { query })).items;
  }

  async processes(): Promise<ProcessInfo[]> {
    return (await this.#http<{ items: ProcessInfo[] }>('GET', '/processes')).items;
  }

  /** Paths that differ from the image. */
  async *changes(options: { signal?: AbortSignal } = {}): AsyncGenerator<Change> {
    yield* ndjson<Change>(
      await this.#context.http.stream('GET', `/v1/sandboxes/${this.id}/changes`, {
        headers: NDJSON,
        signal: options.signal,
      }),
    );
  }

  /** Copies of its file system as new sandboxes; processes are not copied. */
  async fork(count = 1, options: Omit<ForkRequestInput, 'count'> = {}): Promise<Sandbox[]> {
    const { items } = await this.#http<{ items: SandboxInfo[] }>('POST', '/fork', {
      json: { count, ...options },
      idempotencyKey: idempotencyKey(),
    });
    return items.map((info) => new Sandbox(this.#context, info.id, info));
  }

  /** Keeps its file system as an image. */
  snapshot(image: string, options: { labels?: Record<string, string> } = {}): Promise<Image> {
    return this.#http('POST', '/snapshot', { json: { image, ...options }, timeoutMs: 3_600_000 });
  }

  /**
   * Makes an image of what it changed: one layer, without residue (caches, logs, credentials, …), which the report names. `split` makes a
   * second image of the same moment, without changes to protected paths. The sandbox goes on.
   */
  pack(request: PackRequestInput): Promise<PackReport> {
    return this.#http('POST', '/pack', { json: request, idempotencyKey: idempotencyKey(), timeoutMs: 3_600_000 });
  }

  /**
   * Grades what an agent left in it: by default in a fresh sandbox of its image and its changes, without those to protected paths, with
   * the grader's files on top. What a grade can and can't promise: docs/verification.md. A grader that fails is no error: `rewards` is
   * null and `rewardError` says why.
   */
  verify(request: VerifyRequest): Promise<Verification> {
    return verifySandbox(this.#bench(), this, request);
  }

  /** The journal: everything that was done to it, in order. `follow` waits for more until it ends. */
  logs(options: { after?: number; follow?: boolean; signal?: AbortSignal } = {}): AsyncGenerator<JournalRecord> {
    return followLogs(this.#context, this.id, options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  toJSON(): unknown {
    return this.#info ?? { id: this.id };
  }

  #bench(): Bench {
    const create = async (options: CreateOptions) => {
      const info = await createSandbox(this.#context, options);
      return new Sandbox(this.#context, info.id, info);
    };
    return { create, images: new Images(this.#context) };
  }

  #arrived(wanted: readonly SandboxState[]): boolean {
    if (wanted.includes(this.state)) return true;
    if (this.state !== 'ended' && this.state !== 'failed') return false;
    throw new VivError(
      'sandbox_dead',
      `sandbox ${this.id} has ${this.state} (${this.info.endReason ?? 'no reason given'})`,
    );
  }

  #take(info: SandboxInfo): this {
    const token = info.token ?? this.#info?.token;
    this.#info = token === undefined ? info : { ...info, token };
    return this;
  }

  #http<T = SandboxInfo>(
    method: string,
    path: string,
    options: Parameters<Context['http']['json']>[2] = {},
  ): Promise<T> {
    return this.#context.http.json<T>(method, `/v1/sandboxes/${this.id}${path}`, options);
  }
}

const NDJSON = { accept: 'application/x-ndjson' };
