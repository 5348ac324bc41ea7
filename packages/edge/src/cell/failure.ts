import { constants } from 'node:os';
import { type ErrorCode, VivError } from '@vivarium/protocol';

/** Where a request failed inside the guest (docs/guest-protocol.md, "FAIL stages"). */
export const STAGE = {
  REQUEST: 1,
  LIMIT: 2,
  FORK: 3,
  USER: 4,
  CWD: 5,
  EXEC: 6,
  PTY: 7,
  RLIMIT: 8,
  PATH: 9,
  OPERATION: 10,
  CONNECT: 11,
  LISTEN: 12,
  WORKER: 13,
  CONFIG: 14,
} as const;

const { errno: E } = constants;

/** By stage, where the stage alone decides. */
const BY_STAGE: Partial<Record<number, ErrorCode>> = {
  [STAGE.REQUEST]: 'invalid_argument',
  [STAGE.LIMIT]: 'too_many_requests',
  [STAGE.FORK]: 'spawn_failed',
  [STAGE.USER]: 'user_unknown',
  [STAGE.EXEC]: 'spawn_failed',
  [STAGE.PTY]: 'spawn_failed',
  [STAGE.RLIMIT]: 'spawn_failed',
  [STAGE.WORKER]: 'file_error',
};

/** By errno, for operations on paths and sockets. */
const BY_ERRNO: Partial<Record<number, ErrorCode>> = {
  [E.ENOENT]: 'path_not_found',
  [E.EEXIST]: 'path_exists',
  [E.EISDIR]: 'is_directory',
  [E.ENOTDIR]: 'not_directory',
  [E.ENOTEMPTY]: 'directory_not_empty',
  [E.EACCES]: 'path_denied',
  [E.EPERM]: 'path_denied',
  [E.EROFS]: 'path_denied',
  [E.EXDEV]: 'path_escapes',
  [E.ENXIO]: 'not_regular_file',
  [E.ENODEV]: 'not_regular_file',
  [E.ENOSPC]: 'disk_full',
  [E.EDQUOT]: 'disk_full',
  [E.EINVAL]: 'invalid_argument',
  [E.ENAMETOOLONG]: 'invalid_argument',
};

const BY_ERRNO_AT: Partial<Record<number, Partial<Record<number, ErrorCode>>>> = {
  [STAGE.USER]: { [E.EPERM]: 'path_denied', [E.EINVAL]: 'path_denied' },
  [STAGE.CONNECT]: { [E.EACCES]: 'path_denied', [E.EPERM]: 'path_denied', [E.EINVAL]: 'invalid_argument' },
  [STAGE.LISTEN]: { [E.EADDRINUSE]: 'state_conflict', [E.EADDRNOTAVAIL]: 'invalid_argument' },
  // Only path resolution can leave a base; a rename between file systems is an ordinary failure.
  [STAGE.OPERATION]: { [E.EXDEV]: 'file_error' },
};

export type GuestFailure = { errno: number; stage: number; message: string };

/** The request that sets up PID 1: only there is a failure a fault of ours, whatever stage a guest claims. */
export const CONFIG_REQUEST = 'CONFIG';

/** The one table from the guest's errno and stage to an error code. `details` has errno, its name, the stage and (execve) exitCode. */
export function failureError(what: string, failure: GuestFailure): VivError {
  const { errno, stage, message } = failure;
  const details: Record<string, unknown> = { errno, errnoName: errnoName(errno), stage };
  if (stage === STAGE.EXEC) details.exitCode = errno === E.ENOENT ? 127 : 126;
  const code = what === CONFIG_REQUEST && stage === STAGE.CONFIG ? 'internal' : codeOf(errno, stage);
  return new VivError(code, `${what}: ${message}`, { details });
}

/** FAIL payload: errno u32, stage u32, message. The message is the guest's claim: control characters don't get through. */
export function parseFailure(payload: Buffer): GuestFailure {
  const text = payload.toString('utf8', 8).replace(/\p{Cc}/gu, '\ufffd');
  const errno = payload.readUInt32LE(0);
  return { errno, stage: payload.readUInt32LE(4), message: text || errnoName(errno) };
}

function codeOf(errno: number, stage: number): ErrorCode {
  const special = BY_ERRNO_AT[stage]?.[errno];
  if (special) return special;
  if (stage === STAGE.CONNECT) return 'port_closed';
  return BY_STAGE[stage] ?? BY_ERRNO[errno] ?? 'file_error';
}

function errnoName(errno: number): string {
  return Object.entries(E).find(([, value]) => value === errno)?.[0] ?? `errno ${errno}`;
}
