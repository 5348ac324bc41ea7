import type { Edge } from '@vivarium/edge/edge.ts';
import { type Exec, ExecStart, VivError } from '@vivarium/protocol';
import type { E2bLogLevel } from '@vivarium/protocol/e2b/template.ts';

/** What a template runs in each of its sandboxes. Empty: none. */
export type StartCommands = { startCmd: string; readyCmd: string };

export type StartOptions = {
  signal: AbortSignal;
  /** The ready command has to end with 0 within this. */
  timeoutMs: number;
  log(level: E2bLogLevel, message: string): void;
};

/** A start command without a ready command is given this long, unless something listens sooner. */
const SETTLE_MS = 20_000;
const LISTENING = `grep -qs ' 0A ' /proc/net/tcp /proc/net/tcp6`;
const POLL_MS = { first: 25, last: 1000 };
const LINE_MAX = 4096;

/**
 * Starts the start command, which goes on after this, and resolves when the ready command has ended with 0: it is run again and again.
 * Both are run by a login shell as the sandbox's own user. Throws `build_failed` when the start command fails before, or time is out.
 */
export async function startTemplate(
  edge: Edge,
  sandbox: string,
  { startCmd, readyCmd }: StartCommands,
  options: StartOptions,
): Promise<void> {
  const { signal, log } = options;
  const ended = new AbortController();
  let result: Exec | undefined;
  if (startCmd !== '') {
    log('info', `Running start command: ${startCmd}`);
    const lines = lineLogger((stream, line) => log('info', `[start] [${stream}]: ${line}`));
    const stream = await edge.execs.start(sandbox, shell(startCmd), {
      stdin: false,
      onData: (sub, _offset, chunk) => lines(sub, chunk),
      onGap: () => {},
    });
    void stream.done.then(
      (exec) => {
        result = exec;
        ended.abort();
      },
      () => ended.abort(),
    );
    try {
      await ready(edge, sandbox, readyCmd, AbortSignal.any([signal, ended.signal]), options, () => result);
    } finally {
      stream.close();
    }
  } else if (readyCmd !== '') await ready(edge, sandbox, readyCmd, signal, options, () => result);
  log('info', 'Template is ready');
}

async function ready(
  edge: Edge,
  sandbox: string,
  readyCmd: string,
  waking: AbortSignal,
  { signal, timeoutMs, log }: StartOptions,
  started: () => Exec | undefined,
): Promise<void> {
  const given = readyCmd !== '';
  const limitMs = given ? timeoutMs : Math.min(timeoutMs, SETTLE_MS);
  log('info', `Waiting for template to be ready: ${given ? readyCmd : 'a port that is listened on, or 20 s'}`);
  const deadline = performance.now() + limitMs;
  let pauseMs = POLL_MS.first;
  for (;;) {
    const failed = failure(started());
    if (failed) throw new VivError('build_failed', `start command failed: ${failed}`);
    if (!given && started()) return;
    signal.throwIfAborted();
    const leftMs = deadline - performance.now();
    if (leftMs <= 0) {
      if (!given) return;
      throw new VivError('build_failed', `ready command failed: ready command timed out after ${limitMs / 1000}s`);
    }
    const exec = await edge.execs.run(sandbox, shell(given ? readyCmd : LISTENING, leftMs));
    // What was asked may have failed because the start command did.
    const why = failure(started());
    if (why) throw new VivError('build_failed', `start command failed: ${why}`);
    if (exec.outcome?.type === 'exited' && exec.outcome.code === 0) return;
    log('debug', `Template is not ready: ${failure(exec) ?? 'it was canceled'}`);
    await pause(Math.min(pauseMs, Math.max(0, deadline - performance.now())), waking);
    pauseMs = Math.min(pauseMs * 1.5, POLL_MS.last);
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
