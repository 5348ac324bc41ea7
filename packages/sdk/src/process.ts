import type { Exec, ExecStartInput, SignalRequest, WinSize } from '@vivarium/protocol/exec.ts';
import { Sub } from '@vivarium/protocol/mux-frame.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { type ByteStream, type Bytes, iterate, toBytes } from './bytes.ts';
import type { Channel } from './channel.ts';
import type { Context } from './context.ts';
import { OUTPUT_KEPT_BYTES_DEFAULT } from './exec-options.ts';
import { ExecResult } from './exec-result.ts';
import { OutputStream } from './output-stream.ts';
import { idempotencyKey } from './retry.ts';

export type StartRequest = { sandbox: string; exec: ExecStartInput; stdin: boolean };
export type AttachRequest = {
  sandbox: string;
  exec: string;
  stdin: boolean;
  stdoutOffset: number;
  stderrOffset: number;
};

export type OutputGap = { stream: 'stdout' | 'stderr'; from: number; to: number };

/** A command that runs, as a stream. It survives a broken connection on both ends: output carries on where it was. */
export class Process implements AsyncDisposable {
  readonly sandboxId: string;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Stretches of output that are no longer kept (after a long absence), in order. */
  readonly gaps: OutputGap[] = [];
  readonly #context: Context;
  readonly #channel: Channel;
  readonly #keepBytes: number;
  #onGap: (gap: OutputGap) => void = () => {};
  readonly #exited: Promise<Exec>;
  #exec: Exec | undefined;
  #resolveExited!: (exec: Exec) => void;

  private constructor(context: Context, request: StartRequest | AttachRequest) {
    this.#context = context;
    this.sandboxId = request.sandbox;
    const started = typeof request.exec === 'object' ? request.exec : undefined;
    this.#keepBytes = started?.keepBytes ?? OUTPUT_KEPT_BYTES_DEFAULT;
    const ended = new Promise<Exec>((resolve) => {
      this.#resolveExited = resolve;
    });
    this.#channel = context.mux.open({
      open: opening(request),
      reopen: () => ({
        op: 'exec.attach',
        sandbox: request.sandbox,
        exec: this.id,
        stdoutOffset: this.#inlet(Sub.out).received,
        stderrOffset: this.#inlet(Sub.err).received,
        stdinStream: request.stdin,
      }),
      inlets: [Sub.out, Sub.err],
      outlet: request.stdin,
      lossyInput: started === undefined || started.pty !== undefined,
      onOpened: (result) => {
        this.#exec = result as Exec;
      },
      onEvent: (event) => this.#onEvent(event),
    });
    if (typeof request.exec === 'string') {
      this.#inlet(Sub.out).received = (request as AttachRequest).stdoutOffset;
      this.#inlet(Sub.err).received = (request as AttachRequest).stderrOffset;
    }
    this.stdout = new OutputStream(this.#inlet(Sub.out));
    this.stderr = new OutputStream(this.#inlet(Sub.err));
    this.#exited = Promise.race([ended, this.#channel.closed.then(() => this.#afterClose())]);
    this.#exited.catch(() => {});
  }

  /** Resolves once the command runs (or has already ended). Aborted before that, a new command is taken back as soon as it has started. */
  static async open(context: Context, request: StartRequest | AttachRequest, signal?: AbortSignal): Promise<Process> {
    signal?.throwIfAborted();
    const process = new Process(context, request);
    let onAbort = () => {};
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => {
        reject(signal?.reason);
        void process.#takeBack(typeof request.exec === 'object');
      };
      signal?.addEventListener('abort', onAbort, { once: true });
    });
    try {
      await Promise.race([process.#channel.opened, aborted]);
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
    return process;
  }

  get id(): string {
    return this.exec.id;
  }

  /** The last that is known of it. */
  get exec(): Exec {
    if (!this.#exec) throw new VivError('internal', 'the command has not started');
    return this.#exec;
  }

  /** Input as a web stream, for `pipeTo`. */
  get stdin(): WritableStream<Bytes> {
    return new WritableStream<Bytes>({ write: (chunk) => this.write(chunk), close: () => this.closeStdin() });
  }

  /** Resolves when the sandbox has room for it (needs `stdin: true`). */
  async write(data: Bytes | ByteStream): Promise<void> {
    if (typeof data === 'string' || data instanceof Uint8Array || data instanceof ArrayBuffer)
      return this.#channel.outlet.write(toBytes(data));
    for await (const chunk of iterate(data)) await this.#channel.outlet.write(chunk);
  }

  /** The command reads end of file. */
  closeStdin(): Promise<void> {
    return this.#channel.outlet.close();
  }

  /** Calls the listener for every gap, also for those that have been. */
  onGap(listener: (gap: OutputGap) => void): void {
    this.#onGap = listener;
    for (const gap of this.gaps) listener(gap);
  }

  resize(size: WinSize): void {
    this.#channel.send({ t: 'resize', ch: this.#channel.ch, size });
  }

  /** Default TERM, to the process. Rejects `exec_not_running` when it has ended. */
  async signal(signal: string | number = 'TERM', scope: SignalRequest['scope'] = 'process'): Promise<void> {
    await this.#context.http.json('POST', `${this.#path()}/signal`, { json: { signal, scope } });
  }

  /** Ends the command and all that it started, outcome `canceled`. Fine when it has ended. */
  async kill(): Promise<void> {
    await this.#context.http.json('DELETE', this.#path()).catch((error: unknown) => {
      if (!(error instanceof VivError && (error.code === 'exec_not_running' || error.code === 'sandbox_dead')))
        throw error;
    });
  }

  /** Resolves when it has ended and all output has come. Output that nobody reads is dropped. */
  async wait(): Promise<Exec> {
    this.stdout.discardUnread();
    this.stderr.discardUnread();
    return this.#exited;
  }

  /** Collects output (the first `keepBytes` of each stream) to the end. */
  async result(): Promise<ExecResult> {
    const [exec, stdout, stderr] = await Promise.all([
      this.#exited,
      this.stdout.bytes(this.#keepBytes),
      this.stderr.bytes(this.#keepBytes),
    ]);
    return new ExecResult(exec, stdout, stderr);
  }

  /** Lets go: the command runs on, its output is kept; `sandbox.attach(id)` comes back to it. */
  detach(): void {
    this.#channel.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.exec.state !== 'ended') await this.kill();
    this.detach();
  }

  #inlet(sub: number) {
    return this.#channel.inlets.get(sub)!;
  }

  #path(): string {
    return `/v1/sandboxes/${this.sandboxId}/execs/${this.id}`;
  }

  async #takeBack(started: boolean): Promise<void> {
    try {
      if (started) {
        await this.#channel.opened;
        await this.kill();
      }
    } catch {
      // It never started, or the connection is gone: nobody is left to tell.
    } finally {
      this.detach();
    }
  }

  #onEvent(event: Record<string, unknown> & { type?: string }): void {
    if (event.type === 'exit') {
      this.#exec = event.exec as Exec;
      this.#inlet(Sub.out).end();
      this.#inlet(Sub.err).end();
      this.#resolveExited(this.#exec);
      this.#channel.close();
    } else if (event.type === 'gap') {
      const gap = event as unknown as { sub: 1 | 2; from: number; to: number };
      this.#inlet(gap.sub).received = gap.to;
      this.gaps.push({ stream: gap.sub === Sub.out ? 'stdout' : 'stderr', from: gap.from, to: gap.to });
      this.#onGap(this.gaps.at(-1)!);
    }
  }

  /** The channel ended without an exit event: this side detached. */
  #afterClose(): Promise<Exec> {
    if (this.#exec?.state === 'ended') return Promise.resolve(this.#exec);
    throw new VivError('connection_lost', 'detached from the command; it runs on', {
      hint: 'Attach again to follow it.',
    });
  }
}

function opening(request: StartRequest | AttachRequest) {
  if (typeof request.exec === 'object') {
    return {
      op: 'exec.start' as const,
      sandbox: request.sandbox,
      exec: request.exec,
      stdinStream: request.stdin,
      idempotencyKey: idempotencyKey(),
    };
  }
  const { sandbox, exec, stdoutOffset, stderrOffset } = request as AttachRequest;
  return { op: 'exec.attach' as const, sandbox, exec, stdoutOffset, stderrOffset, stdinStream: request.stdin };
}
