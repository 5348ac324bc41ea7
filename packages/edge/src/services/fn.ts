import type { Exec, ExecResult, Limits } from '@vivarium/protocol';
import type { Idempotency, Owner, Room } from '../edge.ts';

/**
 * Calls: a program runs once in a clean container that was warm already. Languages are resolved above (argv, names of files); here a call
 * is files, at most one compile command, one run command, files out.
 */
export interface FnService {
  /**
   * Runs one call to its end. How its commands ended is in the result (also `sandbox_lost`); errors are thrown for what kept it from
   * running: `image_not_found`, `unsupported`, `user_unknown`, `path_not_found` (cwd), `invalid_argument` (a path of `files` can't be
   * written), `quota_exceeded`, `node_full`, `node_disk_full`, `too_many_requests` (no container came free in time), `shutting_down`. The
   * same idempotency key returns the first result, also after a restart; another call with it is `idempotency_mismatch`.
   */
  run(call: FnCall, owner: Owner, idempotency?: Idempotency, room?: Room): Promise<FnResult>;
  /** Keeps `count` clean containers ready for calls with this image and these limits, for as long as a pool keeps idle ones. Resolves when they are there. */
  warm(request: FnWarm, owner: Owner): Promise<FnPool>;
  /** Of one API key, or of all. */
  pools(owner?: string): FnPool[];
  /** Live sessions of one API key, or of all. */
  sessions(owner?: string): FnSession[];
  /** Ends the container of a session, and the call that runs in it. Throws `session_not_found` when this key has none of this name. */
  endSession(name: string, owner: Owner): Promise<void>;
}

/** One command of a call: no shell. */
export type FnCommand = { argv: string[]; timeoutMs: number };

export type FnCall = {
  image: string;
  limits: Limits;
  /** Written before the first command, over what the image has there. Relative paths are beneath `cwd`. Bounded by the caller. */
  files: { path: string; content: Uint8Array; mode?: number }[];
  /** Runs first; the run command runs only if it exits with 0. */
  compile?: FnCommand | undefined;
  run: FnCommand;
  stdin?: Uint8Array | undefined;
  /** On top of the image's. */
  env: Record<string, string>;
  /** An absolute path; made when it is missing. */
  cwd: string;
  user?: string | undefined;
  /** Paths or globs (`*`, `**`, `?`) of files to bring back, absolute or beneath `cwd`. */
  filesOut: string[];
  /** Of all files that come back, together. Those beyond are in `filesLeft`. */
  filesOutBytesMax: number;
  filesOutMax: number;
  /** Kept of each of stdout and stderr, and after how much both together end a command (`output_limit`). */
  keepBytes: number;
  outputLimitBytes?: number | undefined;
  /** Calls of one key with the same session run one after another in the same container, which is never cleaned in between. */
  session?: { name: string; idleTimeoutS: number } | undefined;
  label?: string | undefined;
};

export type FnResult = {
  /** The container it ran in; its commands are listed there for as long as other sandboxes' are. */
  sandbox: string;
  compile: ExecResult | null;
  /** Null when compiling failed. */
  run: ExecResult | null;
  /** Paths are absolute. */
  files: { path: string; content: Uint8Array; mode: number }[];
  /** Matched, but not brought back: too large, too many, or unreadable. */
  filesLeft: { path: string; reason: string }[];
  /** Did it wait for a container to be made? */
  cold: boolean;
  durations: FnDurations;
};

/** Milliseconds. `waitMs`: until a clean container was there. */
export type FnDurations = {
  waitMs: number;
  filesInMs: number;
  compileMs: number;
  runMs: number;
  filesOutMs: number;
  totalMs: number;
};

export type FnWarm = { image: string; limits: Limits; count: number };

export type FnPool = {
  image: string;
  owner: string;
  limits: Limits;
  /** Clean and waiting. */
  ready: number;
  /** In a call, or in a session. */
  busy: number;
  /** Being made or cleaned. */
  preparing: number;
  /** How many it wants ready now. */
  wanted: number;
  calls: number;
  coldCalls: number;
};

export type FnSession = {
  name: string;
  owner: string;
  sandbox: string;
  image: string;
  running: Exec | null;
  lastUsedAt: number;
};
