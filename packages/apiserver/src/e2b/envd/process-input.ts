import type { ExecStream } from '@vivarium/edge/edge.ts';
import { type Exec, VivError } from '@vivarium/protocol';
import type { ProcessInput, ProcessSelector, StreamInputRequest } from '@vivarium/protocol/e2b/process.ts';
import type { z } from 'zod';
import type { EnvdCall } from './envd-call.ts';
import { liveProcess } from './process-lookup.ts';
import { processMemory } from './process-memory.ts';

/** Input that waits for programs to read it, over all of them. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024;
/** The same for one of them; one message may always wait. */
const WAITING_BYTES_EACH = 32 * 1024 * 1024;

let waitingBytes = 0;
const waitingOf = new Map<string, number>();

/** Writes to stdin or the terminal. Answered when the bytes are on their way: a program that does not read makes its clients wait. */
export async function sendInput(
  call: EnvdCall,
  { process, input }: { process: ProcessSelector; input: ProcessInput },
): Promise<object> {
  await write(call, liveProcess(call, process), input);
  return {};
}

/** The same for a stream of inputs, in order. */
export async function streamInput(
  call: EnvdCall,
  messages: AsyncIterable<z.output<typeof StreamInputRequest>>,
): Promise<object> {
  let exec: Exec | undefined;
  for await (const { start, data } of messages) {
    if (start) exec = liveProcess(call, start.process);
    else if (data && exec) await write(call, exec, data.input);
    else if (data)
      throw new VivError('invalid_argument', 'a stream of input begins with start, which names the process');
  }
  return {};
}

/** EOF on stdin. Closing it again does nothing. */
export async function closeStdin(call: EnvdCall, { process }: { process: ProcessSelector }): Promise<object> {
  const exec = liveProcess(call, process);
  if (exec.pty) {
    const message = `process ${exec.pid} has a terminal, whose input can not be closed: send Ctrl-D (byte 4)`;
    throw new VivError('state_conflict', message);
  }
  const stream = await input(call, exec);
  try {
    await stream.closeStdin();
    // Of one that was not started over this surface, or has ended by now, nothing is known yet: nobody else would forget it.
    if (!processMemory.get(exec.id)) processMemory.endAfter(exec.id, stream.done);
    processMemory.of(exec.id).stdinClosed = true;
  } catch (error) {
    // Without a stdin there is nothing to close.
    if (!isWithoutStdin(error)) throw error;
  } finally {
    stream.close();
  }
  return {};
}

async function write(call: EnvdCall, exec: Exec, { stdin, pty }: ProcessInput): Promise<void> {
  const bytes = Buffer.from(chosen(exec, stdin, pty), 'base64');
  if (!exec.pty && processMemory.get(exec.id)?.stdinClosed) throw withoutStdin(exec);
  const release = room(exec, bytes.length);
  try {
    const stream = await input(call, exec);
    // The bytes stay in order when the client leaves, so they are held until they are written.
    const written = stream.write(bytes).finally(release);
    stream.close();
    await written;
  } catch (error) {
    release();
    throw isWithoutStdin(error) ? withoutStdin(exec) : error;
  }
}

function chosen(exec: Exec, stdin: string | undefined, pty: string | undefined): string {
  if ((stdin === undefined) === (pty === undefined))
    throw new VivError('unsupported', 'input is one of stdin and pty, in base64');
  if (stdin !== undefined && exec.pty)
    throw new VivError('state_conflict', `process ${exec.pid} has a terminal: send the input as pty, not as stdin`);
  if (pty !== undefined && !exec.pty)
    throw new VivError('state_conflict', `process ${exec.pid} has no terminal: send the input as stdin, not as pty`);
  return (stdin ?? pty)!;
}

/** A view of the command by which it can be written to. */
function input({ context, sandbox }: EnvdCall, exec: Exec): Promise<ExecStream> {
  const end = Number.MAX_SAFE_INTEGER;
  const nothing = () => {};
  const options = { stdin: true, stdoutOffset: end, stderrOffset: end, onData: nothing, onGap: nothing };
  return context.edge.execs.attach(sandbox, exec.id, options);
}

/** Counts bytes that wait; returns what counts them off, once. Throws `too_many_requests`. */
function room(exec: Exec, bytes: number): () => void {
  const waiting = waitingOf.get(exec.id) ?? 0;
  const full = waiting > 0 && waiting + bytes > WAITING_BYTES_EACH;
  if (full || (waitingBytes > 0 && waitingBytes + bytes > WAITING_BYTES_MAX)) {
    const message = `${full ? waiting : waitingBytes} bytes of input wait already for ${full ? `process ${exec.pid}` : 'programs'} to read them`;
    throw new VivError('too_many_requests', message, { details: { maximum: WAITING_BYTES_EACH } });
  }
  waitingBytes += bytes;
  waitingOf.set(exec.id, waiting + bytes);
  let released = false;
  return () => {
    if (released) return;
    released = true;
    waitingBytes -= bytes;
    const left = waitingOf.get(exec.id)! - bytes;
    if (left > 0) waitingOf.set(exec.id, left);
    else waitingOf.delete(exec.id);
  };
}

/** The edge refuses input to a command that was started without a stream of it. */
function isWithoutStdin(error: unknown): boolean {
  return error instanceof VivError && error.code === 'invalid_argument' && error.details.field === 'stdin';
}

function withoutStdin(exec: Exec): VivError {
  return new VivError(
    'state_conflict',
    `stdin of process ${exec.pid} is not open: it was started without or it was closed`,
  );
}
