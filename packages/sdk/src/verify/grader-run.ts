import type { Exec } from '@vivarium/protocol/exec.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { defined } from '../exec-options.ts';
import { describe } from '../exec-result.ts';
import type { Sandbox } from '../sandbox.ts';
import { AS_ROOT } from './as-root.ts';
import type { GradeRequest, Isolation } from './request.ts';
import { type Rewards, readRewards } from './rewards.ts';

/** In an error's details: the working directory could not be entered (docs/guest-protocol.md, FAILED). */
const STAGE_CWD = 5;
const KEEP_BYTES = 4 * 1024 * 1024;

export type GraderRun = {
  isolation: Isolation;
  timeoutMs: number;
  env: Record<string, string>;
  /** Commands with these labels run on when the grader has ended. */
  keepLabels?: readonly string[];
  /** Done beside the reading of rewards: the command has ended, and nothing of it runs any more. */
  beside?: () => Promise<unknown>;
};

/** Runs the command and reads what it left. How it ended does not count, unless it could not come to its end. */
export async function runGrader(
  sandbox: Sandbox,
  request: GradeRequest,
  { isolation, timeoutMs, env, keepLabels = [], beside }: GraderRun,
): Promise<{ exec: Exec; rewards: Rewards }> {
  const blackBox = isolation === 'black_box';
  const run = (cwd: string | undefined) =>
    sandbox.exec(request.command, {
      timeoutMs,
      keepBytes: KEEP_BYTES,
      label: 'verifier',
      env: { ...request.env, ...env },
      ...defined({ user: byNumber(request.user ?? (blackBox ? 'root' : undefined)), cwd, signal: request.signal }),
    });
  const { exec } = await run(request.cwd ?? (blackBox ? '/' : undefined)).catch((error: unknown) => {
    // The agent took its working directory away. That is for the tests to judge, and must not keep them from running.
    if (VivError.from(error).details.stage !== STAGE_CWD) throw error;
    return run('/');
  });
  const came = cameToEnd(sandbox, exec);
  // What it left running shall not change what is read.
  if (came) await sandbox.sweep({ keepLabels: [...keepLabels] });
  const [rewards] = await Promise.all([came ? rewardsOf(sandbox, exec, request) : unread(exec), beside?.()]);
  return { exec, rewards };
}

/** The state that is graded has a list of users of its own, in which another one may be called root. */
function byNumber(user: string | undefined): string | undefined {
  return user === 'root' || user === '0' ? AS_ROOT.user : user;
}

/** False: its rewards do not count. */
function cameToEnd({ id }: Sandbox, { outcome }: Exec): boolean {
  if (outcome === null || outcome.type === 'sandbox_lost')
    throw new VivError('sandbox_lost', `the sandbox ${id}, in which the grade was made, was lost`);
  return outcome.type !== 'timeout' && outcome.type !== 'oom' && outcome.type !== 'canceled';
}

function unread({ outcome }: Exec): Rewards {
  return { rewards: null, rewardError: `${outcome!.type}: the grader ${describe(outcome!)}` };
}

async function rewardsOf({ files }: Sandbox, exec: Exec, { rewards }: GradeRequest): Promise<Rewards> {
  const read = await readRewards(files, rewards);
  if (read.rewards !== null || !read.rewardError.startsWith('missing')) return read;
  return { rewards: null, rewardError: `${read.rewardError}; it ${describe(exec.outcome!)}${messageOf(exec)}` };
}

function messageOf({ message }: Exec): string {
  return message ? ` (${message})` : '';
}
