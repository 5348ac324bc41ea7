import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { AgentConfig } from '../job/config.ts';
import type { AgentFailure } from '../trial/outcome.ts';
import { type Agent, type AgentRun, type AgentSession, agentInfo } from './agent.ts';
import { AGENT_OUTPUT_BYTES } from './inside.ts';

/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 5_000;

/**
 * A command on this machine that works on the sandbox from outside, with the CLI or an SDK: VIV_SANDBOX, VIV_URL and
 * VIV_API_KEY say where. The instruction is on its input and in the file that VIV_INSTRUCTION names.
 */
export function beside(config: AgentConfig): Agent {
  return {
    info: agentInfo(config),
    writesLogs: true,
    prepare: async () => {},
    run: (session) => run(config.kwargs.command!, session),
  };
}

async function run(command: string, session: AgentSession): Promise<AgentRun> {
  const { logDir, step, signal, timeoutMs } = session;
  signal.throwIfAborted();
  const instruction = join(logDir, 'instruction.md');
  writeFileSync(instruction, step.instruction);
  const started = Date.now();
  // A group of its own: what it started is ended with it.
  const child = spawn('bash', ['-c', command], { detached: true, env: environment(session, instruction) });
  const ending = new Ending(child);
  const onAbort = () => ending.begin('aborted');
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => ending.begin('timeout'), timeoutMs);
  try {
    child.stdin.on('error', () => {}).end(step.instruction);
    keep(child.stdout, join(logDir, 'stdout.txt'));
    keep(child.stderr, join(logDir, 'stderr.txt'));
    const { code, name } = await exited(child);
    signal.throwIfAborted();
    const outcome = ending.reason === 'timeout' ? 'timeout' : name === null ? 'exited' : 'signaled';
    return {
      result: {
        n_input_tokens: null,
        n_cache_tokens: null,
        n_output_tokens: null,
        cost_usd: null,
        exit_code: code,
        outcome,
        duration_ms: Date.now() - started,
      },
      failure: failureOf(outcome, code, name),
      notes: [],
    };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    ending.finish();
  }
}

function environment(session: AgentSession, instruction: string): NodeJS.ProcessEnv {
  const { connection, sandbox, workdir, user, env } = session;
  return {
    ...process.env,
    VIV_URL: connection.url,
    ...(connection.apiKey !== undefined && { VIV_API_KEY: connection.apiKey }),
    VIV_SANDBOX: sandbox.id,
    VIV_INSTRUCTION: instruction,
    VIV_WORKDIR: workdir,
    ...(user !== undefined && { VIV_USER: user }),
    ...env,
  };
}

/** SIGTERM to the group, later SIGKILL; at the end SIGKILL to what is left of the group. */
class Ending {
  reason: 'timeout' | 'aborted' | undefined;
  readonly #child: ChildProcess;
  #timer: NodeJS.Timeout | undefined;

  constructor(child: ChildProcess) {
    this.#child = child;
  }

  begin(reason: 'timeout' | 'aborted'): void {
    this.reason ??= reason;
    this.#signal('SIGTERM');
    this.#timer ??= setTimeout(() => this.#signal('SIGKILL'), GRACE_MS);
  }

  finish(): void {
    clearTimeout(this.#timer);
    this.#signal('SIGKILL');
  }

  #signal(name: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      process.kill(-pid, name);
    } catch {
      // The group has gone.
    }
  }
}

/** The exit of the command itself: a background process that holds its output does not hold the trial. */
function exited(child: ChildProcess): Promise<{ code: number | null; name: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, name) => setTimeout(resolve, 50, { code, name }));
  });
}

function keep(stream: Readable, path: string): void {
  const file = createWriteStream(path);
  let left = AGENT_OUTPUT_BYTES;
  stream.on('data', (chunk: Buffer) => {
    if (left > 0) file.write(chunk.subarray(0, left));
    left -= chunk.length;
  });
  stream.on('close', () => file.end());
  stream.on('error', () => file.end());
}

function failureOf(outcome: string, code: number | null, name: string | null): AgentFailure | null {
  if (outcome === 'timeout') return { type: 'agent_timeout', message: 'the agent ran into its time limit' };
  if (code === 0) return null;
  return { type: 'agent_error', message: `the agent ${name ? `was ended by ${name}` : `exited with ${code}`}` };
}
