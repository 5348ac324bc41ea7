import { ExecStart, VivError, type WinSize } from '@vivarium/protocol';
import type { StartRequest } from '@vivarium/protocol/e2b/process.ts';
import { factsOf } from '../control/sandbox-view.ts';
import type { EnvdCall } from './envd-call.ts';

const TIMEOUT_MS_MAX = 30 * 86_400_000;
const SIZE_MAX = 65_535;

/** The command that a Start asks for. Throws `invalid_argument`. */
export function execStart(call: EnvdCall, message: StartRequest, timeoutMs: number | null): ExecStart {
  const { cmd, args = [], envs = {}, cwd } = message.process;
  if (!cmd) throw new VivError('invalid_argument', 'process.cmd names no program');
  return {
    argv: [cmd, ...args],
    env: { ...ownVariables(call), ...envs },
    cwd: directory(cwd),
    user: call.user,
    pty: message.pty && winSize(message.pty.size),
    timeoutMs: timeoutMs === null ? undefined : Math.min(timeoutMs, TIMEOUT_MS_MAX),
    label: message.tag,
    keepBytes: KEEP_BYTES,
    detach: false,
  };
}

const KEEP_BYTES = ExecStart.parse({ argv: ['true'] }).keepBytes;

/** What is left out or 0 is that of a usual terminal. */
export function winSize(size: { cols?: number | undefined; rows?: number | undefined } = {}): WinSize {
  return { cols: Math.min(size.cols || 80, SIZE_MAX), rows: Math.min(size.rows || 24, SIZE_MAX) };
}

/** `~` is the user's home, as are relative paths beneath it: the guest begins there. */
function directory(cwd: string | undefined): string | undefined {
  if (!cwd) return undefined;
  if (cwd === '~') return '.';
  if (cwd.startsWith('~/')) return cwd.slice(2).replace(/^\/+/, '') || '.';
  if (cwd.startsWith('~'))
    throw new VivError('invalid_argument', `cwd '${cwd}': the home of another user can not be named by ~`);
  return cwd;
}

/** Variables by which programs know that they are in a sandbox. */
function ownVariables({ context, sandbox }: EnvdCall): Record<string, string> {
  const { templateID } = factsOf(context, context.edge.sandboxes.get(sandbox));
  return { E2B_SANDBOX: 'true', E2B_SANDBOX_ID: sandbox, E2B_TEMPLATE_ID: templateID };
}
