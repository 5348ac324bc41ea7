import { constants } from 'node:os';
import type { Outcome } from '@vivarium/protocol';
import { signalName } from './signal-number.ts';

/** What the edge itself did to end a command, if anything. */
export type Cause = 'timeout' | 'output_limit' | 'canceled' | 'sandbox_lost';

/** How the guest saw it end. */
export type Ending =
  | { kind: 'exited'; code: number }
  | { kind: 'signaled'; code: number }
  /** execve failed, errno as on Linux. */
  | { kind: 'failed'; errno: number; message: string }
  /** Nobody can tell any more. */
  | { kind: 'unknown' };

export type Verdict = { outcome: Outcome; exitCode: number; message: string | null };

const ENOENT = constants.errno.ENOENT;
const ENOTDIR = constants.errno.ENOTDIR;

/**
 * How a command ended (design, invariant 7) and the number a shell would give it. The edge's own doing comes first: a command that was
 * killed for its time-out has timed out, whatever its exit says. `oom`: the kernel killed it with SIGKILL (or its shell reports that of
 * a child, 137) while the sandbox's count of OOM kills rose.
 */
export function decideOutcome(ending: Ending, cause: Cause | null, oomKills: number): Verdict {
  switch (cause) {
    case 'timeout':
      return { outcome: { type: 'timeout' }, exitCode: 124, message: 'it ran longer than its timeoutMs' };
    case 'output_limit':
      return { outcome: { type: 'output_limit' }, exitCode: 137, message: 'it wrote more than its outputLimitBytes' };
    case 'canceled':
      return { outcome: { type: 'canceled' }, exitCode: 137, message: 'it was canceled' };
    case 'sandbox_lost':
      return { outcome: { type: 'sandbox_lost' }, exitCode: 125, message: 'its sandbox is gone' };
  }
  switch (ending.kind) {
    case 'failed':
      return failedToStart(ending.errno, ending.message);
    case 'unknown':
      return { outcome: { type: 'sandbox_lost' }, exitCode: 125, message: 'its sandbox is gone' };
    case 'exited':
      if (ending.code === 137 && oomKills > 0) return oom();
      return { outcome: { type: 'exited', code: ending.code }, exitCode: ending.code, message: null };
    case 'signaled':
      if (ending.code === constants.signals.SIGKILL && oomKills > 0) return oom();
      return {
        outcome: { type: 'signaled', signal: ending.code },
        exitCode: 128 + ending.code,
        message: `ended by ${signalName(ending.code)}`,
      };
  }
}

/** 127: there is no such program; 126: there is, but it can't be run. As shells do. */
function failedToStart(errno: number, message: string): Verdict {
  const code = errno === ENOENT || errno === ENOTDIR ? 127 : 126;
  return { outcome: { type: 'exited', code }, exitCode: code, message };
}

function oom(): Verdict {
  return { outcome: { type: 'oom' }, exitCode: 137, message: 'the kernel killed it: the sandbox was out of memory' };
}
