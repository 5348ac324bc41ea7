import { Buffer } from 'node:buffer';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { VivError } from '@vivarium/protocol';

export type ToolOptions = {
  signal: AbortSignal;
  env?: Record<string, string>;
  cwd?: string;
  /** Gets the child's stdin. A VivError it throws wins over the tool's failure; a broken pipe (the tool ended) does not. */
  feed?(stdin: Writable): Promise<void>;
  onStdout?(chunk: Buffer): void;
  onStderr?(chunk: Buffer): void;
  /** Debian package that brings the program. */
  package: string;
};

const TAIL_BYTES = 4096;

/**
 * Runs an external program to its end. It dies with us (parent-death signal) and by SIGKILL with the abort signal. stdout is discarded
 * unless asked for; the last 4 KiB of stderr go into the error.
 * @throws VivError `import_failed` (exit status or signal), `precondition_failed` (not installed).
 */
export async function runTool(command: string, args: readonly string[], options: ToolOptions): Promise<void> {
  options.signal.throwIfAborted();
  const tail = new Tail();
  const child = start(command, args, options);
  child.stdout.on('data', (chunk: Buffer) => options.onStdout?.(chunk));
  child.stderr.on('data', (chunk: Buffer) => {
    tail.push(chunk);
    options.onStderr?.(chunk);
  });
  const abort = () => child.kill('SIGKILL');
  options.signal.addEventListener('abort', abort);
  try {
    const ended = end(child);
    child.stdin.on('error', () => {});
    const fed = feed(child.stdin, options).catch((error) => {
      abort();
      throw error;
    });
    const [exit, feeding] = await Promise.allSettled([ended, fed]);
    options.signal.throwIfAborted();
    if (exit.status === 'rejected') throw exit.reason;
    if (feeding.status === 'rejected' && feeding.reason instanceof VivError) throw feeding.reason;
    const { code, signal } = exit.value;
    if (feeding.status === 'rejected' && (signal === 'SIGKILL' || code === 0)) throw feeding.reason;
    if (code !== 0) throw failure(command, code, signal, tail.text(), options.package);
  } finally {
    options.signal.removeEventListener('abort', abort);
  }
}

function start(
  command: string,
  args: readonly string[],
  options: ToolOptions,
): ChildProcessByStdio<Writable, Readable, Readable> {
  return spawn('setpriv', ['--pdeathsig', 'KILL', '--', command, ...args], {
    cwd: options.cwd ?? '/',
    env: { PATH: process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', TZ: 'UTC', ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

function end(child: ChildProcessByStdio<Writable, Readable, Readable>) {
  return new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new VivError('precondition_failed', `cannot start setpriv (util-linux): ${cause.message}`, { cause })),
    );
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
}

async function feed(stdin: Writable, options: ToolOptions): Promise<void> {
  if (options.feed) return options.feed(stdin);
  stdin.end();
}

function failure(
  command: string,
  code: number | null,
  signal: string | null,
  output: string,
  packageName: string,
): VivError {
  if (code === 127 && /setpriv: failed to execute/.test(output)) {
    return new VivError('precondition_failed', `${command} is not installed`, {
      hint: `apt-get install ${packageName}`,
    });
  }
  const how = signal === null ? `exit status ${code}` : `signal ${signal}`;
  return new VivError('import_failed', `${command} failed (${how}): ${lastLine(output)}`, {
    details: { output, exitCode: code, signal },
  });
}

function lastLine(output: string): string {
  return output.trimEnd().split('\n').at(-1) ?? '';
}

/** The last bytes of a stream. */
class Tail {
  #bytes = Buffer.alloc(0);

  push(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]).subarray(-TAIL_BYTES);
  }

  text(): string {
    return this.#bytes.toString('utf8');
  }
}
