import type { Edge, ExecStream } from '@vivarium/edge/edge.ts';
import { type Exec, ExecStart, VivError } from '@vivarium/protocol';
import type { E2bLogLevel } from '@vivarium/protocol/e2b/template.ts';
import { listeningPorts } from './templates-ports.ts';

/** What a template runs in each of its sandboxes. Empty: none. `ports`: what listened at the end of its build. */
export type StartCommands = { startCmd: string; readyCmd: string; ports: readonly number[] };

export type StartOptions = {
  signal: AbortSignal;
  /** The ready command has to end with 0 within this. */
  timeoutMs: number;
  log(level: E2bLogLevel, message: string): void;
};

/** A start command without a ready command is given this long, unless something listens sooner. */
const SETTLE_MS = 20_000;
const POLL_MS = { first: 25, last: 1000 };
const LINE_MAX = 4096;
/** A ready command that checks nothing: clients have it for waitForTimeout(). */
const SLEEP = /^\s*sleep\s+(\d{1,4}(?:\.\d+)?)\s*$/;

/**
 * Starts the start command, which goes on after this, and resolves when the ready command has ended with 0: it is run again and again.
 * One that only sleeps is not: its time passes, but for a start command that ends well before, or ports that were listened on at the
 * end of the build and are again. Both are run by a login shell as the sandbox's own user. Throws `build_failed` when the start command
 * fails before, or time is out.
 */
export async function startTemplate(
  edge: Edge,
  sandbox: string,
  commands: StartCommands,
  options: StartOptions,
): Promise<void> {
  const { startCmd, readyCmd } = commands;
  if (startCmd === '' && readyCmd === '') return;
  const { signal, log } = options;
  const start = new Started();
  if (startCmd !== '') {
    log('info', `Running start command: ${startCmd}`);
    const lines = lineLogger((stream, line) => log('info', `[start] [${stream}]: ${line}`));
    const onData = (sub: 1 | 2, _offset: number, chunk: Uint8Array) => lines(sub, chunk);
    start.follow(await edge.execs.start(sandbox, shell(startCmd), { stdin: false, onData, onGap: () => {} }));
  }
  try {
    const waking = AbortSignal.any([signal, start.ended]);
    const sleepS = SLEEP.exec(readyCmd)?.[1];
    if (readyCmd !== '' && sleepS === undefined)
      await untilReady(edge, sandbox, readyCmd, { ...options, start, waking });
    else {
      const waitMs = sleepS === undefined ? SETTLE_MS : Number(sleepS) * 1000;
      await untilSettled(edge, sandbox, commands, waitMs, { ...options, start, waking });
    }
  } finally {
    start.leave();
  }
  log('info', 'Template is ready');
}

type Waiting = StartOptions & { start: Started; waking: AbortSignal };

async function untilReady(edge: Edge, sandbox: string, readyCmd: string, waiting: Waiting): Promise<void> {
  const { signal, timeoutMs, log, start, waking } = waiting;
  log('info', `Waiting for template to be ready: ${readyCmd}`);
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = POLL_MS.first; ; pauseMs = Math.min(pauseMs * 1.5, POLL_MS.last)) {
    start.check();
    signal.throwIfAborted();
    const leftMs = deadline - performance.now();
    if (leftMs <= 0)
      throw new VivError('build_failed', `ready command failed: ready command timed out after ${timeoutMs / 1000}s`);
    const asked = edge.execs.run(sandbox, shell(readyCmd, leftMs));
    const answered = await orAborted(asked, waking);
    // What is asked may fail, or never end, because the start command failed.
    start.check();
    signal.throwIfAborted();
    const why = failure(answered ?? (await orAborted(asked, signal)));
    signal.throwIfAborted();
    if (why === undefined) return;
    log('debug', `Template is not ready: ${why}`);
    await pause(Math.min(pauseMs, leftMs), waking);
  }
}

/** Until the time has passed, the start command has ended well, or what is known to listen does. */
async function untilSettled(
  edge: Edge,
  sandbox: string,
  { startCmd, readyCmd, ports }: StartCommands,
  waitMs: number,
  { signal, log, start, waking }: Waiting,
): Promise<void> {
  log('info', `Waiting for template to be ready: ${readyCmd === '' ? 'it has no ready command' : readyCmd}`);
  const deadline = performance.now() + waitMs;
  // Nobody knows yet what will listen: without a ready command anything will do, a time that was asked for passes.
  const looks = startCmd !== '' && (ports.length > 0 || readyCmd === '');
  for (let pauseMs = POLL_MS.first; ; pauseMs = Math.min(pauseMs * 1.5, POLL_MS.last)) {
    start.check();
    signal.throwIfAborted();
    const leftMs = deadline - performance.now();
    if (start.hasEnded || leftMs <= 0) return;
    if (looks) {
      const listening = await listeningPorts(edge, sandbox);
      if (ports.length > 0 ? ports.every((port) => listening.includes(port)) : listening.length > 0) return;
    }
    await pause(looks ? Math.min(pauseMs, leftMs) : leftMs, waking);
  }
}

/** The start command, as far as it has come. */
class Started {
  readonly #ended = new AbortController();
  #stream: ExecStream | undefined;
  #result: Exec | undefined;

  /** Aborted when it has ended, however. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  get hasEnded(): boolean {
    return this.#ended.signal.aborted;
  }

  follow(stream: ExecStream): void {
    this.#stream = stream;
    void stream.done.then(
      (exec) => {
        this.#result = exec;
        this.#ended.abort();
      },
      () => this.#ended.abort(),
    );
  }

  /** Throws `build_failed` if it did not end well. */
  check(): void {
    const why = failure(this.#result);
    if (why !== undefined) throw new VivError('build_failed', `start command failed: ${why}`);
  }

  /** It goes on alone. */
  leave(): void {
    this.#stream?.close();
  }
}

function shell(command: string, timeoutMs?: number): ExecStart {
  const limit = timeoutMs === undefined ? {} : { timeoutMs: Math.max(1, Math.ceil(timeoutMs)) };
  return ExecStart.parse({ argv: ['/bin/bash', '-l', '-c', command], keepBytes: 65_536, ...limit });
}

/** How a command ended that did not end well. */
function failure(exec: Pick<Exec, 'outcome'> | undefined): string | undefined {
  const outcome = exec?.outcome;
  if (!outcome || (outcome.type === 'exited' && outcome.code === 0)) return undefined;
  if (outcome.type === 'exited') return `exit status ${outcome.code}`;
  return outcome.type === 'signaled' ? `signal: ${outcome.signal}` : outcome.type;
}

/** Cuts the output of two streams into lines. */
function lineLogger(put: (stream: 'stdout' | 'stderr', line: string) => void): (sub: 1 | 2, chunk: Uint8Array) => void {
  const rest = { 1: '', 2: '' };
  const decoders = { 1: new TextDecoder(), 2: new TextDecoder() };
  return (sub, chunk) => {
    const lines = (rest[sub] + decoders[sub].decode(chunk, { stream: true })).split('\n');
    rest[sub] = lines.pop()!.slice(-LINE_MAX);
    for (const line of lines)
      if (line.trim() !== '') put(sub === 1 ? 'stdout' : 'stderr', line.trim().slice(0, LINE_MAX));
  };
}

/** Undefined when the signal was first; what the work does then is nobody's business any more. */
async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  work.catch(() => {});
  let leave = () => {};
  const aborted = new Promise<undefined>((resolve) => {
    leave = () => resolve(undefined);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
