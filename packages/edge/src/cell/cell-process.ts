import type { Rlimit } from './rlimit.ts';

/** What the guest is to run. Strings are sent as UTF-8; NUL anywhere is `invalid_argument`. */
export type SpawnRequest = {
  argv: (string | Uint8Array)[];
  /** Over the defaults that CONFIG gave. */
  env: Record<string, string>;
  cwd?: string | undefined;
  /** `name`, `uid`, `name:group` or `uid:gid`, looked up inside. */
  user?: string | undefined;
  pty?: { rows: number; cols: number } | undefined;
  /** true: stdin is a stream (write, closeStdin); false: /dev/null. */
  stdin: boolean;
  /** stderr joins stdout on channel 1; channel 2 then doesn't exist and has no EOF. The same holds for a pty. */
  mergeStderr?: boolean | undefined;
  rlimits?: Rlimit[] | undefined;
  umask?: number | undefined;
  /** At most 64 opaque bytes that come back in `retained()` after an edge restart. */
  tag: Uint8Array;
  /** Bytes per output channel the guest may send before the first ack; default 65,536, at most 4 MiB. */
  window?: number | undefined;
  handlers: ProcessHandlers;
};

export type ProcessExit = {
  kind: 'exited' | 'signaled';
  /** Exit code or signal number. */
  code: number;
  utimeUs: number;
  stimeUs: number;
  maxRssKiB: number;
};

/** errno 0, stage 0: the guest lost sight of the process (its answer went down with a broken connection). */
export type ProcessFailure = { errno: number; stage: number; message: string };

/**
 * Called synchronously while the socket is parsed: they must not throw and must not block. The end of a child that dies while it waits
 * may be told before the promise of `spawn()` is seen to resolve. After the cell is lost (`onLost`) none is called any more.
 */
export type ProcessHandlers = {
  /**
   * In order per channel, without gaps or repeats, also across reconnects. The chunk is only valid during the call. The consumer calls
   * `process.ack` when it has kept the bytes and may take more.
   */
  onData(chan: 1 | 2, offset: number, chunk: Uint8Array): void;
  /** Once per channel, after its last byte; may come before or after onExit. */
  onEof(chan: 1 | 2, final: number): void;
  /** At most once; perhaps before the last onData. */
  onExit(exit: ProcessExit): void;
  /**
   * The process ended without ever running (or was lost), at most once and never beside onExit. A pending `start()` rejects as well. A
   * SPAWN that the guest refuses outright only rejects `spawn()`.
   */
  onFail(error: ProcessFailure): void;
};

export interface CellProcess {
  /** As the guest sees it. */
  readonly pid: number;
  /** Lets the waiting child run. Resolves after execve; rejects with the guest's reason (`details.errno`, `details.stage`, `details.exitCode`). */
  start(): Promise<void>;
  /** Resolves when the bytes are on their way (window permitting). The chunk must not be changed afterwards: it may have to be sent again. */
  write(chunk: Uint8Array): Promise<void>;
  closeStdin(): void;
  signal(signal: number, scope?: 'process' | 'group'): void;
  resize(rows: number, cols: number): void;
  /** SIGKILL to the process and every descendant the guest can find (the edge's control group does better). */
  killTree(): void;
  /** Bytes below `offset` are kept and may be forgotten by the guest; bytes below `limit` may be sent. Both only grow. */
  ack(chan: 1 | 2, offset: number, limit: number): void;
  /** Forgets the ended process: no handler is called any more. */
  release(): void;
  /** Ends a process that has not been started; no handler is called any more. */
  cancel(): void;
}

/** A process that an earlier connection left, as the guest reports it. */
export type RetainedProcess = {
  readonly stream: number;
  readonly pid: number;
  /** waiting: start() was never called. */
  readonly phase: 'waiting' | 'running' | 'exited';
  readonly tag: Uint8Array;
  /** Output the guest still has: from `base` (all before it was acknowledged) to `end`. */
  readonly out1: RetainedOutput;
  /** null for pty and merged output. */
  readonly out2: RetainedOutput | null;
  /** Stdin bytes it has received: the host goes on from here. */
  readonly received: number;
};
export type RetainedOutput = { base: number; end: number; eof: boolean };
