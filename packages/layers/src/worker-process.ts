import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** Ends when it has had nothing to do for this long. */
const IDLE_MS = 60_000;
const HEAP_MIB = 2048;

/** The process ended before it answered. */
export class WorkerGone extends Error {}

/**
 * One worker process: a module that takes a job per line of stdin and answers each with a line of stdout, both JSON. It dies with us
 * (parent-death signal), does one job at a time, and never keeps us alive while it rests.
 */
export class WorkerProcess<Job, Answer> {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  #gone: WorkerGone | undefined;
  #asked: { answer(line: string): void; fail(error: WorkerGone): void } | undefined;
  #pieces: string[] = [];
  #idle: NodeJS.Timeout | undefined;
  #onEnd: () => void = () => {};

  /** `main`: the module; `what`: what it does, for the error. */
  constructor(main: string, what: string) {
    const node = [process.execPath, '--disable-warning=ExperimentalWarning', `--max-old-space-size=${HEAP_MIB}`, main];
    this.#child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...node], {
      cwd: '/',
      env: { PATH: process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC' },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const gone = (how: unknown) => {
      clearTimeout(this.#idle);
      this.#gone = new WorkerGone(`the ${what} process ended (${how})`);
      this.#onEnd();
      this.#asked?.fail(this.#gone);
    };
    this.#child.once('error', (error) => gone(error.message));
    this.#child.once('exit', (code, signal) => gone(signal ?? `status ${code}`));
    this.#child.stdin.on('error', () => {});
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => this.#take(text));
  }

  /** Ends the process when the signal is aborted. Throws WorkerGone. */
  async ask(job: Job, signal: AbortSignal): Promise<Answer> {
    const abort = () => this.#child.kill('SIGKILL');
    signal.addEventListener('abort', abort, { once: true });
    try {
      if (this.#gone) throw this.#gone;
      const line = new Promise<string>((answer, fail) => {
        this.#asked = { answer, fail };
      });
      this.#child.stdin.write(`${JSON.stringify(job)}\n`);
      return JSON.parse(await line) as Answer;
    } finally {
      this.#asked = undefined;
      signal.removeEventListener('abort', abort);
    }
  }

  /** Lets our process end while this one has nothing to do. `onEnd`: it ended meanwhile. */
  restUntilEnd(onEnd: () => void): void {
    this.#onEnd = onEnd;
    this.#idle = setTimeout(() => {
      onEnd();
      this.end();
    }, IDLE_MS).unref();
    this.#hold('unref');
  }

  /** It gets work again. */
  stay(): void {
    clearTimeout(this.#idle);
    this.#onEnd = () => {};
    this.#hold('ref');
  }

  end(): void {
    clearTimeout(this.#idle);
    this.#child.stdin.end();
    this.#hold('unref');
  }

  #hold(action: 'ref' | 'unref'): void {
    this.#child[action]();
    for (const stream of [this.#child.stdin, this.#child.stdout])
      (stream as unknown as Record<typeof action, () => void>)[action]();
  }

  #take(text: string): void {
    this.#pieces.push(text);
    if (!text.endsWith('\n')) return;
    const line = this.#pieces.join('');
    this.#pieces = [];
    this.#asked?.answer(line);
  }
}
