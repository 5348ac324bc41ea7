import { type ExecResult, type ExecStart, VivError } from '@vivarium/protocol';
import type { FnCall, FnCommand, FnDurations, FnResult, Room } from '../edge.ts';
import type { Execs } from '../exec/service.ts';
import type { Box } from '../lifecycle/box.ts';
import { putFiles } from './files-in.ts';
import { takeFiles } from './files-out.ts';

export type CallRun = Omit<FnResult, 'cold'>;

/** Is told when the first command is about to run: from then on a call can't be moved to another container, unless it was `refused`. */
export type CallWatch = { begins(): void; refused(): void };

/** Runs a call in a container that is its own: files in, compile, run, files out. Its durations lack what came before. */
export async function runCall(
  box: Box,
  call: FnCall,
  execs: Execs,
  watch: CallWatch,
  room: Room | undefined,
): Promise<CallRun> {
  const durations: FnDurations = { waitMs: 0, filesInMs: 0, compileMs: 0, runMs: 0, filesOutMs: 0, totalMs: 0 };
  const timed = async <T>(name: keyof FnDurations, work: () => Promise<T>): Promise<T> => {
    const began = box.context.clock.monotonicMs();
    const result = await work();
    durations[name] = round(box.context.clock.monotonicMs() - began);
    return result;
  };
  const exec = (command: FnCommand, stdin: Uint8Array | undefined) =>
    execs.run(box.id, execStart(call, command, stdin), undefined, room);
  const result = (
    compile: ExecResult | null,
    run: ExecResult | null,
    files: Pick<FnResult, 'files' | 'filesLeft'>,
  ) => ({
    sandbox: box.id,
    compile,
    run,
    ...files,
    durations,
  });
  await timed('filesInMs', () => putFiles(box, call));
  watch.begins();
  const first = <T>(work: () => Promise<T>) => tellingRefused(box, watch, work);
  const runCommand = () => timed('runMs', () => exec(call.run, call.stdin));
  const compile = call.compile ? await first(() => timed('compileMs', () => exec(call.compile!, undefined))) : null;
  if (compile && compile.exitCode !== 0) return result(compile, null, { files: [], filesLeft: [] });
  const run = compile ? await runCommand() : await first(runCommand);
  const found = await timed('filesOutMs', () => filesOf(box, call, run));
  return result(compile, run, found);
}

/** A command that never came to the guest, or that the guest says (by the stage) it did not start, has done nothing. */
async function tellingRefused<T>(box: Box, watch: CallWatch, work: () => Promise<T>): Promise<T> {
  const before = box.execsTotal;
  try {
    return await work();
  } catch (error) {
    if (box.execsTotal === before || VivError.from(error).details.stage !== undefined) watch.refused();
    throw error;
  }
}

/** Of a container that died with the command nothing can be brought. */
async function filesOf(box: Box, call: FnCall, run: ExecResult): Promise<Pick<FnResult, 'files' | 'filesLeft'>> {
  if (call.filesOut.length === 0) return { files: [], filesLeft: [] };
  if (run.outcome?.type !== 'sandbox_lost' && box.cell) return takeFiles(box, call);
  return { files: [], filesLeft: call.filesOut.map((path) => ({ path, reason: 'the container was lost' })) };
}

function execStart(call: FnCall, { argv, timeoutMs }: FnCommand, stdin: Uint8Array | undefined): ExecStart {
  return {
    argv,
    env: call.env,
    cwd: call.cwd,
    ...(call.user !== undefined && { user: call.user }),
    ...(stdin !== undefined && { stdin: Buffer.from(stdin).toString('base64') }),
    timeoutMs,
    keepBytes: call.keepBytes,
    ...(call.outputLimitBytes !== undefined && { outputLimitBytes: call.outputLimitBytes }),
    ...(call.label !== undefined && { label: call.label }),
    detach: false,
  };
}

/** To hundredths. */
export function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
