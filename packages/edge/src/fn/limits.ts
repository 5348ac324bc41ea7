/** Bounds of function calls on one node. */
export type FnLimits = {
  /** Containers of one pool, and of all pools together. */
  poolContainers: number;
  containers: number;
  /** Calls that wait for a container, per pool, and for how long. */
  waiting: number;
  waitMs: number;
  /** A container that nobody needs is kept this long. */
  idleMs: number;
  /** After so many calls, or so much kept output, a container's journal is closed: another one takes its place. */
  callsPerContainer: number;
  outputBytesPerContainer: number;
  sessionsPerKey: number;
};

export const FN_LIMITS: FnLimits = {
  poolContainers: 64,
  containers: 1024,
  waiting: 1024,
  waitMs: 60_000,
  idleMs: 300_000,
  callsPerContainer: 500,
  outputBytesPerContainer: 64 * 1024 * 1024,
  sessionsPerKey: 256,
};
