import type { Exec } from '@vivarium/protocol/exec.ts';
import type { Image } from '@vivarium/protocol/image.ts';
import type { Change, Limits, Stats } from '@vivarium/protocol/sandbox.ts';
import type { Command } from '../exec-options.ts';
import type { Sandbox } from '../sandbox.ts';
import type { Tampering } from './tampering.ts';

/** What each promises, and does not: docs/verification.md. */
export type Mode = 'fresh' | 'in_place';
export type Isolation = 'in_process' | 'black_box';

/** How a grade is made. */
export type GradeRequest = {
  /** What runs. A string goes through /bin/sh -c. Its exit code does not count, the reward file does. */
  command: Command;
  /** Default `in_process`. */
  isolation?: Isolation;
  /** Image with the grader's files, laid over the state that is graded: the agent's sandbox never saw it. */
  grader?: string;
  /** Who runs the command. Default: the image's user; with `black_box` root. */
  user?: string;
  /** Default: the image's; with `black_box` `/`. */
  cwd?: string;
  env?: Record<string, string>;
  /** Default 600,000. */
  timeoutMs?: number;
  /** Of the sandbox that grades. Default: those of the agent's sandbox. */
  limits?: Partial<Limits>;
  /** Labels of the sandbox that grades, besides `viv.role=verifier`. */
  labels?: Record<string, string>;
  /** Lease that owns it. Default: that of the agent's sandbox. */
  lease?: string | { readonly id: string };
  /** Where the command leaves its reward. Default: `/logs/verifier/reward.json`, then `/logs/verifier/reward.txt`. */
  rewards?: { json?: string; text?: string };
  /** With `black_box`: who runs the agent's program; an ordinary user. Default: the image's user. */
  agentUser?: string;
  /** Runs before the command, in its sandbox: to start what it needs. Not with `in_place`. What it throws, the call throws. */
  beforeCommand?: (sandbox: Sandbox) => Promise<void>;
  /** Runs when the command has ended and its sandbox still lives: to fetch logs. The rewards are read meanwhile. */
  onSandbox?: (sandbox: Sandbox) => Promise<void>;
  /**
   * Handed what goes on when the grade is made: sandboxes end, images of the moment are removed. It never rejects. Default: the call
   * waits for it. Not with `in_place`.
   */
  onEnding?: (rest: Promise<void>) => void;
  /** Aborted: the sandbox that grades is ended and the call throws the signal's reason. */
  signal?: AbortSignal;
};

export type VerifyRequest = GradeRequest & {
  /** Default `fresh`. */
  mode?: Mode;
  /** Patterns of paths that are graded as the image has them, besides those of `PROTECTED`. */
  protect?: string[];
  /**
   * Patterns of what the agent is expected to change: no tampering, and never put back. Default: the image's working directory.
   * With `black_box` nothing else of what it changed is carried over.
   */
  workspace?: string[];
  /** Name of an image to keep the agent's whole state as. Default: not kept. */
  keep?: string;
  /** Name of an image to keep as what was graded, without the grader's files: `viv.verify` grades it again. Default: not kept. */
  keepSplit?: string;
  /** The image of the agent's sandbox, if it is at hand: it need not be asked for. */
  pinned?: Image;
  /** Runs while the agent's sandbox is frozen for its state to be taken: to look at it. Not with `in_place`. */
  onFrozen?: (sandbox: Sandbox) => Promise<void>;
  /** Called for every path that the agent changed, at most a million. */
  onChange?: (change: Change) => void;
  /** What becomes of the agent's sandbox once its state is taken. Default `resume`, if it ran. */
  afterwards?: 'resume' | 'pause' | 'end';
};

/** Grades a state that was kept (`keepSplit`). */
export type RegradeRequest = GradeRequest & {
  image: string;
  /** What the first verification said of it: false spares making the loader's cache anew. Default true. */
  loaderCache?: boolean;
  /** Paths the agent is expected to change: with `black_box` they must have been the same when the state was kept. */
  workspace?: string[];
};

export type Verification = {
  /** Null when there is none; then `rewardError` says why. */
  rewards: Record<string, number> | null;
  /** A word (`missing`, `empty`, `invalid`, `too_large`, `not_a_file`, `timeout`, `oom`), a colon, and the reason. */
  rewardError: string | null;
  exec: Exec | null;
  mode: Mode;
  isolation: Isolation;
  /** The image that the agent's sandbox was made from. */
  image: { name: string; digest: string };
  /** The agent's whole state, when it was kept. */
  state: { image: string; digest: string } | null;
  /** What was graded, when it was kept. */
  split: { image: string; digest: string } | null;
  /** Changes of the agent that were not carried over, the first thousand. */
  leftOut: { path: string; change: 'added' | 'changed' | 'deleted' }[];
  leftOutEntries: number;
  /** What it changed outside its workspace, worst first, bounded; `tamperingCounts` is complete unless `tamperingTruncated`. */
  tampering: Tampering[];
  tamperingCounts: Record<string, number>;
  tamperingTruncated: boolean;
  /** Was the loader's cache made anew, since libraries may have changed? `viv.verify` takes it. */
  loaderCache: boolean;
  network: 'none';
  timings: { packMs: number; createMs: number; runMs: number; totalMs: number };
  /** Of the sandbox that graded, at its end. */
  stats: Stats | null;
};
