import type { Exec } from '@vivarium/protocol/exec.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';
import { defined } from '../exec-options.ts';
import { describe } from '../exec-result.ts';
import type { Sandbox } from '../sandbox.ts';
import type { GradeRequest, Isolation } from './request.ts';
import { type Rewards, readRewards } from './rewards.ts';

const KEEP_BYTES = 4 * 1024 * 1024;

export type GraderRun = {
  isolation: Isolation;
  timeoutMs: number;
  env: Record<string, string>;
  /** Commands with these labels run on when the grader has ended. */
  keepLabels?: readonly string[];
};

/** Runs the command and reads what it left. How it ended does not count, unless it could not come to its end. */
export async function runGrader(
  sandbox: Sandbox,
  request: GradeRequest,
  { isolation, timeoutMs, env, keepLabels = [] }: GraderRun,
): Promise<{ exec: Exec; rewards: Rewards }> {
  const blackBox = isolation === 'black_box';
  const { exec } = await sandbox.exec(request.command, {
    timeoutMs,
    keepBytes: KEEP_BYTES,
    label: 'verifier',
    env: { ...request.env, ...env },
    ...defined({
      user: request.user ?? (blackBox ? 'root' : undefined),
      cwd: request.cwd ?? (blackBox ? '/' : undefined),
      signal: request.signal,
    }),
  });
  return { exec, rewards: await rewardsOf(sandbox, exec, request, keepLabels) };
}

async function rewardsOf(
  sandbox: Sandbox,
  exec: Exec,
  { rewards }: GradeRequest,
  keepLabels: readonly string[],
): Promise<Rewards> {
  const { outcome } = exec;
  if (outcome === null || outcome.type === 'sandbox_lost')
    throw new VivError('sandbox_lost', `the sandbox ${sandbox.id}, in which the grade was made, was lost`);
  if (outcome.type === 'timeout' || outcome.type === 'oom' || outcome.type === 'canceled')
    return { rewards: null, rewardError: `${outcome.type}: the grader ${describe(outcome)}` };
  // What it left running shall not change what is read.
  await sandbox.sweep({ keepLabels: [...keepLabels] });
  const read = await readRewards(sandbox.files, rewards);
  if (read.rewards !== null || !read.rewardError.startsWith('missing')) return read;
  return { rewards: null, rewardError: `${read.rewardError}; it ${describe(outcome)}${messageOf(exec)}` };
}

function messageOf({ message }: Exec): string {
  return message ? ` (${message})` : '';
}
