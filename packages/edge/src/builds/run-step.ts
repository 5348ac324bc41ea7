import { HEREDOC_PATH, type RunAction } from '@vivarium/builder';
import { type Exec, ExecStart, type Limits, VivError } from '@vivarium/protocol';
import { Execs } from '../exec/service.ts';
import type { Box } from '../lifecycle/box.ts';
import { putSources } from './copy-step.ts';
import { idsOf } from './owner.ts';
import { Placing } from './placing.ts';

/** What of a step's output goes into the error. */
const TAIL_CHARS = 16_384;

export type RunOptions = {
  /** Resolves when it may go on: a reader that is slow makes the program wait. */
  onOutput(stream: 'stdout' | 'stderr', text: string): Promise<void>;
  /** Left of the build's time. */
  timeoutMs: number;
  /** The build's whole time, for words. */
  buildMs: number;
  signal: AbortSignal;
};

/** Runs a RUN in the sandbox of its step. Throws `build_failed` unless it ends with 0. */
export async function runIn(box: Box, action: RunAction, options: RunOptions): Promise<void> {
  const cell = box.requireCell();
  const { signal } = options;
  for (const { target, mode, owner, sources } of action.mounts) {
    const ids = await idsOf(cell, owner);
    if (sources === null)
      await new Placing(cell, signal).makeDirectories(Buffer.from(target, 'utf8').toString('latin1'), ids, mode);
    else
      await putSources(cell, await sources(), {
        target,
        intoDirectory: false,
        owner: null,
        mode: null,
        extracts: false,
        signal,
      });
  }
  if (action.script !== null)
    await cell.write(Buffer.from(HEREDOC_PATH), [Buffer.from(action.script, 'utf8')], { mode: 0o755, signal });
  const { exec, tail } = await execute(box, action, options);
  // The clock of the build and that of the command run out together: which one is first means nothing.
  if (exec.outcome?.type === 'canceled' && VivError.from(signal.reason).code === 'build_failed')
    exec.outcome = { type: 'timeout' };
  if (exec.outcome?.type === 'exited' && exec.outcome.code === 0) return;
  throw failure(exec, tail, box.row.limits, options);
}

async function execute(box: Box, action: RunAction, options: RunOptions): Promise<{ exec: Exec; tail: string }> {
  const { argv, env, cwd, user } = action;
  const parsed = ExecStart.safeParse({
    argv,
    env,
    cwd,
    ...(user === null ? { user: 'root' } : { user }),
    keepBytes: 0,
    timeoutMs: Math.max(1, Math.ceil(options.timeoutMs)),
    label: 'build',
  });
  if (!parsed.success)
    throw new VivError(
      'build_failed',
      `it can't be started: ${parsed.error.issues[0]?.path.join('.')}: ${parsed.error.issues[0]?.message}`,
    );
  let tail = '';
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() };
  const take = (name: 'stdout' | 'stderr', chunk: Uint8Array) => {
    const text = decoders[name].decode(chunk, { stream: true });
    tail = (tail + text).slice(-TAIL_CHARS);
    return options.onOutput(name, text);
  };
  const stream = await new Execs(box.context).start(box.id, parsed.data, {
    stdin: false,
    onData: (sub, _offset, chunk) => take(sub === 1 ? 'stdout' : 'stderr', chunk),
    onGap: () => {},
  });
  const exec = await stream.done;
  return { exec, tail };
}

function failure(exec: Exec, output: string, limits: Limits, { buildMs }: RunOptions): VivError {
  const { outcome, annotations, message } = exec;
  const hit = [
    annotations.includes('disk_limit') && `its disk was full (diskMiB ${limits.diskMiB})`,
    annotations.includes('pids_limit') && `it could start no more processes (pids ${limits.pids})`,
    annotations.includes('memory_limit') &&
      outcome?.type !== 'oom' &&
      `its memory was full (memoryMiB ${limits.memoryMiB})`,
  ].filter(Boolean);
  const words = [outcomeWords(exec, limits, buildMs), ...hit].join('; ');
  return new VivError('build_failed', message && outcome?.type === 'exited' ? `${words} (${message})` : words, {
    fault: outcome?.type === 'sandbox_lost' || outcome?.type === 'canceled' ? 'infra' : 'task',
    details: { output, outcome, annotations, exitCode: exec.exitCode },
  });
}

function outcomeWords({ outcome }: Exec, limits: Limits, buildMs: number): string {
  switch (outcome?.type) {
    case 'exited':
      return `it ended with exit code ${outcome.code}`;
    case 'signaled':
      return `it was killed by signal ${outcome.signal}`;
    case 'timeout':
      return `it did not end within the build's time of ${Math.round(buildMs / 1000)} s`;
    case 'oom':
      return `it ran out of memory (memoryMiB ${limits.memoryMiB})`;
    case 'canceled':
      return 'its sandbox was ended by somebody else';
    default:
      return 'its sandbox was lost';
  }
}
