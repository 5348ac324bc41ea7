import type { ExecStream, StreamOptions } from '@vivarium/edge/edge.ts';
import { VivError } from '@vivarium/protocol';
import type { ProcessSelector, StartRequest } from '@vivarium/protocol/e2b/process.ts';
import type { EnvdCall, RpcStream } from './envd-call.ts';
import { endOf, failedToStart } from './process-end.ts';
import { anyProcess } from './process-lookup.ts';
import { processMemory } from './process-memory.ts';
import { execStart } from './process-request.ts';
import { writeRunFiles } from './run-files.ts';

/** Runs a command and streams what it does: its pid, its output, its end. It goes on when the client leaves. */
export async function startProcess(call: EnvdCall, message: StartRequest, stream: RpcStream): Promise<void> {
  const request = execStart(call, message, stream.timeoutMs);
  await writeRunFiles(call);
  const view = new EventView(stream, request.pty !== undefined);
  const stdin = message.stdin ?? true;
  const started = await call.context.edge.execs
    .start(call.sandbox, request, { stdin, ...view.handlers })
    .catch((error: unknown) => {
      throw namingDirectory(error, message.process.cwd);
    });
  const failure = failedToStart(started.exec);
  if (failure) throw failure;
  processMemory.of(started.exec.id, message.process);
  await view.follow(call, started, true);
}

/**
 * Follows a command that runs, or tells of one that has ended. It begins with what no client was sent yet; what one has seen to its
 * end is told again from its beginning, as far as it is kept.
 */
export async function connectProcess(
  call: EnvdCall,
  { process }: { process: ProcessSelector },
  stream: RpcStream,
): Promise<void> {
  const exec = await anyProcess(call, process);
  const sent = processMemory.get(exec.id)?.sent ?? { 1: 0, 2: 0 };
  const view = new EventView(stream, exec.pty);
  const options = { stdin: false, stdoutOffset: sent[1], stderrOffset: sent[2], ...view.handlers };
  await view.follow(call, await call.context.edge.execs.attach(call.sandbox, exec.id, options), false);
}

/** One client's stream of events of one command. */
class EventView {
  readonly handlers: Pick<StreamOptions, 'onData' | 'onGap'>;
  readonly #stream: RpcStream;
  readonly #fields: { 1: string; 2: string };
  /** Output waits until the start event is out. */
  readonly #begun = Promise.withResolvers<void>();
  #exec: string | null = null;

  constructor(stream: RpcStream, pty: boolean) {
    this.#stream = stream;
    this.#fields = { 1: before(pty ? 'pty' : 'stdout'), 2: before('stderr') };
    this.handlers = {
      onData: (sub, offset, chunk) =>
        this.#exec === null
          ? this.#begun.promise.then(() => this.#data(sub, offset, chunk))
          : this.#data(sub, offset, chunk),
      onGap: () => {},
    };
  }

  /** Sends the start event, all output and the end event. Throws what ends the stream as an error. `starter`: it is the command's first. */
  async follow(call: EnvdCall, source: ExecStream, starter: boolean): Promise<void> {
    const { signal } = call;
    const left = Promise.withResolvers<null>();
    const leave = () => left.resolve(null);
    signal.addEventListener('abort', leave, { once: true });
    let seen = false;
    try {
      const { exec } = source;
      await this.#stream.send({ event: { start: { pid: exec.pid } } });
      this.#stream.keepAlive({ event: { keepalive: {} } });
      this.#exec = exec.id;
      this.#begun.resolve();
      const ended = signal.aborted ? null : await Promise.race([source.done, left.promise]);
      if (ended === null) return;
      await this.#stream.send({ event: { end: endOf(ended, { sandboxRuns: runs(call), starter }) } });
      seen = true;
    } finally {
      signal.removeEventListener('abort', leave);
      forget(source, seen);
      source.close();
    }
  }

  #data(sub: 1 | 2, offset: number, chunk: Uint8Array): Promise<void> | void {
    const memory = processMemory.get(this.#exec!);
    if (memory) memory.sent[sub] = Math.max(memory.sent[sub], offset + chunk.length);
    return this.#stream.sendBytes(this.#fields[sub], chunk, AFTER);
  }
}

const AFTER = '"}}}';
const before = (field: 'stdout' | 'stderr' | 'pty') => `{"event":{"data":{"${field}":"`;

/** What a client has not seen is known for a while after the command's end. */
function forget({ exec, done }: ExecStream, seen: boolean): void {
  if (seen) processMemory.end(exec.id, true);
  else processMemory.endAfter(exec.id, done);
}

function runs({ context, sandbox }: EnvdCall): boolean {
  try {
    return context.edge.sandboxes.get(sandbox).state === 'running';
  } catch {
    return false;
  }
}

/** A directory that is missing is the request's fault, not a process that is missing. */
function namingDirectory(error: unknown, cwd: string | undefined): unknown {
  if (!(error instanceof VivError) || error.details.field !== 'cwd') return error;
  const message =
    error.code === 'path_not_found' ? `cwd '${cwd ?? ''}' does not exist` : `cwd '${cwd ?? ''}': ${error.message}`;
  return new VivError('invalid_argument', message, { details: error.details, cause: error });
}
