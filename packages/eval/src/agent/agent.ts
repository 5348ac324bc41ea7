import { type Sandbox, VivError } from '@vivarium/sdk';
import type { AgentConfig } from '../job/config.ts';
import type { FileTree } from '../trial/file-tree.ts';
import type { AgentFailure } from '../trial/outcome.ts';
import type { AgentInfo, AgentResult } from '../trial/result.ts';
import type { TrialStep } from '../trial/steps.ts';

/** What an agent gets for one step. */
export type AgentSession = {
  sandbox: Sandbox;
  step: TrialStep;
  workdir: string;
  /** Undefined: the image's user. */
  user: string | undefined;
  /** Variables of the job's `--ae`, the model's address and name. */
  env: Record<string, string>;
  timeoutMs: number | undefined;
  /** Values of the task's `[solution].env`. */
  solutionEnv: Record<string, string>;
  /** The trial's `agent/` directory on this machine. */
  logDir: string;
  /** What a program beside the sandbox needs to reach it. */
  connection: { url: string; apiKey: string | undefined };
  signal: AbortSignal;
};

export type AgentRun = { result: AgentResult | null; failure: AgentFailure | null; notes: string[] };

/** Whoever works on a task. */
export type Agent = {
  readonly info: AgentInfo;
  /** Does it leave anything in /logs/agent? */
  readonly writesLogs: boolean;
  /** Adds what must be in the sandbox before it starts. Throws `task_refused` when this task has nothing for it. */
  prepare(step: TrialStep, tree: FileTree): Promise<void>;
  run(session: AgentSession): Promise<AgentRun>;
};

/** Where the instruction is inside; also in VIV_INSTRUCTION. */
export const INSTRUCTION_PATH = '/logs/agent/instruction.md';

/** `provider/name` or `name`. */
export function agentInfo(config: AgentConfig): AgentInfo {
  const model = config.model_name;
  const slash = model?.indexOf('/') ?? -1;
  return {
    name: config.name,
    version: 'unknown',
    model_info:
      model === null || model === undefined
        ? null
        : { name: slash < 0 ? model : model.slice(slash + 1), provider: slash < 0 ? null : model.slice(0, slash) },
  };
}

/** A command as the agent: the name is that of its program, for tables and result keys. */
export function agentConfig(
  text: string,
  options: { model?: string; env?: Record<string, string>; beside?: boolean } = {},
): AgentConfig {
  const prefixed = text.startsWith('host:');
  const command = prefixed ? text.slice('host:'.length).trim() : text;
  if (command.trim() === '')
    throw new VivError('invalid_argument', 'the agent is an empty command', {
      hint: 'Give -a oracle, nop or a command.',
    });
  const builtin = text === 'oracle' || text === 'nop';
  return {
    name: builtin ? text : programName(command),
    model_name: options.model ?? null,
    env: options.env ?? {},
    kwargs: {
      command: builtin ? null : command,
      place: !builtin && (prefixed || options.beside) ? 'beside' : 'inside',
    },
  };
}

function programName(command: string): string {
  const word = command.split(/\s+/).find((part) => part !== '' && !/^[A-Za-z_]\w*=/.test(part)) ?? 'agent';
  return (
    word
      .split('/')
      .at(-1)!
      .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 40) || 'agent'
  );
}
