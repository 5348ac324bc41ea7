import { constants } from 'node:os';
import { type Exec, VivError } from '@vivarium/protocol';
import type { ProcessEnd } from '@vivarium/protocol/e2b/process.ts';

/** How Go's syscall.Signal names signals; clients show these texts. */
const SIGNALS: Record<number, string> = {
  1: 'hangup',
  2: 'interrupt',
  3: 'quit',
  4: 'illegal instruction',
  5: 'trace/breakpoint trap',
  6: 'aborted',
  7: 'bus error',
  8: 'floating point exception',
  9: 'killed',
  10: 'user defined signal 1',
  11: 'segmentation fault',
  12: 'user defined signal 2',
  13: 'broken pipe',
  14: 'alarm clock',
  15: 'terminated',
};
const OOM_EXIT = 137;

/**
 * The end of a process as envd tells it. Throws what ends the stream instead: `sandbox_dead`, `sandbox_lost`, and `request_timeout` to
 * the stream that set the time-out (others see it killed). `sandboxRuns` tells a canceled command from one whose sandbox goes.
 */
export function endOf(exec: Exec, { sandboxRuns, starter }: { sandboxRuns: boolean; starter: boolean }): ProcessEnd {
  const { outcome, pid } = exec;
  switch (outcome?.type) {
    case 'exited':
      return exited(outcome.code);
    case 'signaled':
      return signaled(outcome.signal);
    case 'oom':
      return { ...signaled(constants.signals.SIGKILL), exitCode: OOM_EXIT, error: 'signal: killed (out of memory)' };
    case 'timeout':
      if (!starter) return signaled(constants.signals.SIGKILL);
      throw new VivError('request_timeout', `process ${pid} ran longer than its time-out and was killed`);
    case 'output_limit':
      return { ...signaled(constants.signals.SIGKILL), error: `signal: killed (${exec.message})` };
    case 'canceled':
      if (sandboxRuns) return signaled(constants.signals.SIGKILL);
      throw new VivError('sandbox_dead', `the sandbox of process ${pid} has ended`);
    default:
      throw new VivError('sandbox_lost', `the sandbox of process ${pid} is gone`);
  }
}

/** Why it never ran; undefined when it did. */
export function failedToStart(exec: Exec): VivError | undefined {
  const { outcome, message } = exec;
  // Only a program that could not be executed has both.
  if (outcome?.type !== 'exited' || message === null) return undefined;
  return new VivError('invalid_argument', `error starting process '${exec.argv[0]}': ${message}`);
}

function exited(code: number): ProcessEnd {
  const status = `exit status ${code}`;
  return { exitCode: code, exited: true, status, ...(code === 0 ? {} : { error: status }) };
}

function signaled(number: number): ProcessEnd {
  const status = `signal: ${SIGNALS[number] ?? `signal ${number}`}`;
  return { exitCode: -1, exited: false, status, error: status };
}
