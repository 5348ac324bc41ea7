import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { VivError } from '@vivarium/protocol';
import { type Answer, createLineReader, type Request, toLine } from './line-codec.ts';

/** More restarts than this within the window, and the next one waits. */
const RESTARTS_MAX = 20;
const RESTART_WINDOW_MS = 10_000;
const RESTART_PAUSE_MS = 1_000;
/** Tries of an operation that spawners are killed under. */
const ATTEMPTS_MAX = 5;

export type SpawnerOptions = {
  /** Called when the spawner ended unasked and a new one is started. */
  onRestart?: (reason: string) => void;
};

/**
 * The server's side of the spawner. A killed spawner is replaced at once; calls in flight fail with VivError `internal`
 * and `details.spawnerLost`, and it is for the caller to clean up and try again.
 */
export class Spawner {
  readonly #options: SpawnerOptions;
  readonly #calls = new Map<number, Pending>();
  readonly #restarts: number[] = [];
  #child: ChildProcessByStdio<Writable, Readable, null> | null = null;
  #lastCall = 0;
  #closed = false;

  constructor(options: SpawnerOptions) {
    this.#options = options;
    this.#start();
  }

  /** Process id of the running spawner, null between two. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Calls an operation and resolves with its result. */
  call<T>(op: string, params: unknown): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#send({ call: this.#track({ resolve: resolve as (value: unknown) => void, reject }), op, params }, reject);
    });
  }

  /** The same for an operation that may run twice: tried again by the next spawner when this one is killed under it. */
  async callAgain<T>(op: string, params: unknown): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.call<T>(op, params);
      } catch (error) {
        if (!isSpawnerLost(error) || attempt >= ATTEMPTS_MAX) throw error;
        if (this.#child === null) await sleep(RESTART_PAUSE_MS);
      }
    }
  }

  /** Calls an operation that answers in batches; the next is asked for when the last was consumed. */
  async *stream<T>(op: string, params: unknown): AsyncGenerator<T> {
    let wake: { resolve: (batch: unknown[] | null) => void; reject: (error: unknown) => void } | null = null;
    const promise = () => new Promise<unknown[] | null>((resolve, reject) => (wake = { resolve, reject }));
    const call = this.#track({
      resolve: () => wake?.resolve(null),
      reject: (error) => wake?.reject(error),
      onBatch: (batch) => wake?.resolve(batch),
    });
    try {
      let answer = promise();
      this.#send({ call, op, params }, (error) => wake?.reject(error));
      for (let batch = await answer; batch !== null; batch = await answer) {
        yield* batch as T[];
        answer = promise();
        this.#send({ next: call }, (error) => wake?.reject(error));
      }
    } finally {
      if (this.#calls.delete(call)) this.#send({ cancel: call }, () => undefined);
    }
  }

  /** Mounts a layer file read-only on a directory (made if missing). */
  mountErofs(file: string, target: string): Promise<void> {
    return this.call('mountErofs', { file, target });
  }

  /** Unmounts lazily; nothing mounted there is fine. */
  umount(target: string): Promise<void> {
    return this.call('umount', { target });
  }

  /** Ends the spawner; what it does at the moment is finished by it or left for a sweep. */
  async close(): Promise<void> {
    this.#closed = true;
    const child = this.#child;
    if (!child || child.exitCode !== null) return;
    const exit = new Promise((resolve) => child.once('exit', resolve));
    child.stdin.end();
    await exit;
  }

  #track(pending: Pending): number {
    const call = ++this.#lastCall;
    this.#calls.set(call, pending);
    return call;
  }

  #send(request: Request, fail: (error: unknown) => void): void {
    if (this.#child && !this.#closed) {
      this.#child.stdin.write(toLine(request));
      return;
    }
    if ('call' in request) this.#calls.delete(request.call);
    fail(this.#closed ? new VivError('shutting_down', 'the spawner is closed') : lost('the spawner is not running'));
  }

  #start(): void {
    const main = fileURLToPath(new URL('./main.ts', import.meta.url));
    const child = spawn(process.execPath, ['--max-semi-space-size=2', main], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env.PATH ?? '' },
      // A session of its own: a Ctrl-C in the terminal must not reach it, nor what it starts.
      detached: true,
    });
    this.#child = child;
    child.stdout.setEncoding('utf8');
    child.stdout.on(
      'data',
      createLineReader<Answer>((answer) => this.#onAnswer(answer)),
    );
    child.stdin.on('error', () => undefined);
    child.on('error', () => undefined);
    child.on('close', (code, signal) => this.#onEnd(`the spawner ended (${signal ?? `code ${code}`})`));
  }

  #onAnswer(answer: Answer): void {
    const pending = this.#calls.get(answer.to);
    if (!pending) return;
    if ('batch' in answer) {
      pending.onBatch?.(answer.batch);
      return;
    }
    this.#calls.delete(answer.to);
    if ('error' in answer) pending.reject(VivError.fromBody(answer.error));
    else pending.resolve(answer.done);
  }

  #onEnd(reason: string): void {
    this.#child = null;
    const inFlight = [...this.#calls.values()];
    this.#calls.clear();
    if (!this.#closed) this.#restart(reason);
    for (const pending of inFlight) pending.reject(lost(reason));
  }

  #restart(reason: string): void {
    const now = Date.now();
    while (this.#restarts.length > 0 && now - this.#restarts[0]! > RESTART_WINDOW_MS) this.#restarts.shift();
    this.#restarts.push(now);
    this.#options.onRestart?.(reason);
    if (this.#restarts.length <= RESTARTS_MAX) this.#start();
    else setTimeout(() => !this.#closed && this.#start(), RESTART_PAUSE_MS);
  }
}

/** Starts the spawner in this process's mount namespace. */
export function startSpawner(options: SpawnerOptions = {}): Spawner {
  return new Spawner(options);
}

/** Did this call fail because the spawner was killed under it? */
export function isSpawnerLost(error: unknown): boolean {
  return error instanceof VivError && error.details.spawnerLost === true;
}

type Pending = {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
  onBatch?: (batch: unknown[]) => void;
};

function lost(message: string): VivError {
  return new VivError('internal', message, { details: { spawnerLost: true } });
}
