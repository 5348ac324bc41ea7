import { VivError } from '@vivarium/protocol';
import type { ProcessSelector } from '@vivarium/protocol/e2b/process.ts';
import type { EnvdCall } from './envd-call.ts';
import { liveProcess } from './process-lookup.ts';

/** How long the answer waits for a killed command to be gone. */
const KILL_WAIT_MS = 1000;

type SignalRequest = { process: ProcessSelector; signal?: string | number | undefined };

/** SIGTERM goes to the process; SIGKILL ends it and all it started, and is answered when they are gone. */
export async function sendSignal(call: EnvdCall, { process, signal }: SignalRequest): Promise<object> {
  const { execs } = call.context.edge;
  const kill = isKill(signal);
  const exec = liveProcess(call, process);
  if (!kill) {
    await execs.signal(call.sandbox, exec.id, { signal: 'TERM', scope: 'process' });
    return {};
  }
  await execs.signal(call.sandbox, exec.id, { signal: 'KILL', scope: 'tree' });
  await ended(call, exec.id);
  return {};
}

function isKill(signal: string | number | undefined): boolean {
  if (signal === 'SIGNAL_SIGKILL' || signal === 9) return true;
  if (signal === 'SIGNAL_SIGTERM' || signal === 15) return false;
  throw new VivError(
    'unsupported',
    `signal ${signal ?? 'SIGNAL_UNSPECIFIED'} can not be sent, only SIGTERM and SIGKILL`,
  );
}

async function ended({ context, sandbox }: EnvdCall, exec: string): Promise<void> {
  const end = Number.MAX_SAFE_INTEGER;
  const nothing = () => {};
  const options = { stdin: false, stdoutOffset: end, stderrOffset: end, onData: nothing, onGap: nothing };
  const stream = await context.edge.execs.attach(sandbox, exec, options);
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, KILL_WAIT_MS);
  });
  await Promise.race([stream.done.catch(() => {}), timeUp]);
  clearTimeout(timer);
  stream.close();
}
