import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type ExecResult, VivError } from '@vivarium/sdk';
import type { AgentConfig } from '../job/config.ts';
import type { AgentFailure } from '../trial/outcome.ts';
import type { AgentResult } from '../trial/result.ts';
import { type Agent, type AgentRun, type AgentSession, agentInfo, INSTRUCTION_PATH } from './agent.ts';

/** Kept of each stream of an agent's own output; its files in /logs/agent are counted apart. */
export const AGENT_OUTPUT_BYTES = 8 << 20;

/** A command in the task's sandbox: `bash -c`, as agent.user, in the workdir, the instruction on its input and in a file. */
export function inside(config: AgentConfig): Agent {
  return {
    info: agentInfo(config),
    writesLogs: true,
    prepare: async () => {},
    run: async (session) => {
      const env = { VIV_INSTRUCTION: INSTRUCTION_PATH, ...session.env };
      return runCommand(session, config.kwargs.command!, { env, stdin: session.step.instruction });
    },
  };
}

/** Runs one command of an agent to its end and keeps its output in the trial's directory. */
export async function runCommand(
  session: AgentSession,
  command: string,
  options: { env: Record<string, string>; stdin: string },
): Promise<AgentRun> {
  const { sandbox, workdir, user, timeoutMs, signal } = session;
  const done = await sandbox.exec(['bash', '-c', command], {
    cwd: workdir,
    env: options.env,
    stdin: options.stdin,
    keepBytes: AGENT_OUTPUT_BYTES,
    label: 'agent',
    signal,
    ...(user !== undefined && { user }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  keepOutput(session.logDir, done);
  if (done.outcome.type === 'sandbox_lost') await explainLoss(session);
  const notes = done.annotations.map((what) => `agent: ${what}`);
  return { result: resultOf(done), failure: failureOf(done), notes };
}

function keepOutput(logDir: string, done: ExecResult): void {
  if (done.stdoutBytes.length > 0) writeFileSync(join(logDir, 'stdout.txt'), done.stdoutBytes);
  if (done.stderrBytes.length > 0) writeFileSync(join(logDir, 'stderr.txt'), done.stderrBytes);
}

/** A sandbox whose first process has ended was ended from inside; any other loss is the machine's. */
async function explainLoss({ sandbox }: AgentSession): Promise<void> {
  const { endReason } = (await sandbox.refresh()).info;
  if (endReason === 'exited') throw new VivError('command_failed', 'the agent ended its own sandbox');
  throw new VivError('sandbox_lost', `the sandbox was lost while the agent worked (${endReason ?? 'no reason given'})`);
}

function resultOf(done: ExecResult): AgentResult {
  return {
    n_input_tokens: null,
    n_cache_tokens: null,
    n_output_tokens: null,
    cost_usd: null,
    exit_code: done.exitCode,
    outcome: done.outcome.type,
    duration_ms: done.durationMs,
  };
}

function failureOf(done: ExecResult): AgentFailure | null {
  if (done.ok) return null;
  const type = done.outcome.type === 'timeout' ? 'agent_timeout' : 'agent_error';
  const tail = done.stderr.trim().split('\n').at(-1)?.slice(0, 300);
  return { type, message: `the agent ${describe(done.outcome)}${tail ? `: ${tail}` : ''}` };
}
