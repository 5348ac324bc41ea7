import { resolve } from 'node:path';
import { agentConfig, type JobRequest, startJob, startUnnamedJob } from '@vivarium/eval';
import { type Command, Option } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { JOBS_DIR, newJobId, runToEnd } from '../job-run.ts';
import { collectEnv, collectPair, parseCount, parseMiB, parseNumber } from '../units.ts';

type Flags = ConnectionOptions & {
  path?: string;
  task?: string[];
  includeTask?: string[];
  excludeTask?: string[];
  agent: string;
  agentBeside?: boolean;
  model?: string;
  modelUrl?: string;
  modelPort: number;
  modelHeader?: Record<string, string>;
  attempts: number;
  concurrent: number;
  retries: number;
  jobsDir: string;
  jobName?: string;
  ae?: Record<string, string>;
  ve?: Record<string, string>;
  timeoutMultiplier: number;
  agentTimeoutMultiplier?: number;
  verifierTimeoutMultiplier?: number;
  overrideCpus?: number;
  overrideMemoryMb?: number;
  overrideStorageMb?: number;
  forceBuild?: boolean;
  disableVerification?: boolean;
  buildNetwork?: 'none' | 'node';
  map?: Record<string, string>;
  inPlace?: boolean;
  rerunSuspect: number;
  keepState: boolean;
  quiet?: boolean;
  json?: boolean;
};

const several = (text: string, all: string[] = []) => [...all, text];

export function define(command: Command): void {
  command
    .argument('[dir]', 'a task, or a directory of tasks')
    .optionsGroup('Tasks:')
    .option('-p, --path <dir>', 'the same as the argument')
    .option('-t, --task <name>', 'this task only (repeatable)', several)
    .option('-i, --include-task <pattern>', 'tasks whose name fits (repeatable)', several)
    .option('-x, --exclude-task <pattern>', 'not those whose name fits (repeatable)', several)
    .optionsGroup('Agent:')
    .option('-a, --agent <agent>', 'a command, `oracle` (the task’s own solution) or `nop` (nothing)', 'oracle')
    .option('--agent-beside', 'the command runs on this machine, with VIV_SANDBOX (so does `host:COMMAND`)')
    .option('-m, --model <model>', 'name of the model, in MODEL')
    .option('--model-url <url>', 'where it answers; inside on localhost (OPENAI_BASE_URL, ANTHROPIC_BASE_URL)')
    .option('--model-port <port>', 'that port inside', parseCount, 8000)
    .option('--model-header <name=value>', 'header that only the model endpoint sees (repeatable)', collectPair)
    .option('--ae <name=value>', 'variable of the agent (repeatable; NAME alone: its value here)', collectVariable)
    .optionsGroup('Job:')
    .option('-k, --attempts <n>', 'trials of each task', parseCount, 1)
    .option('-n, --concurrent <n>', 'trials at once', parseCount, 4)
    .option('-r, --retries <n>', 'more tries after an infrastructure failure', parseCount, 2)
    .option('-o, --jobs-dir <dir>', 'where jobs are kept', JOBS_DIR)
    .option('--job-name <name>', 'default: date and time')
    .option('--rerun-suspect <n>', 'more tries of a trial that the host disturbed', parseCount, 0)
    .option('--no-keep-state', 'keep no state for `trial open` and `job regrade`')
    .option('-q, --quiet', 'no progress, the summary only')
    .option('--json', 'the job’s result as JSON at the end')
    .optionsGroup('Limits and images:')
    .option('--timeout-multiplier <x>', 'of all time limits', parseNumber, 1)
    .option('--agent-timeout-multiplier <x>', 'of the agent’s instead', parseNumber)
    .option('--verifier-timeout-multiplier <x>', 'of the verifier’s instead', parseNumber)
    .option('--override-cpus <n>', 'instead of the task’s', parseNumber)
    .option('--override-memory-mb <n>', 'instead of the task’s', parseMiB)
    .option('--override-storage-mb <n>', 'instead of the task’s', parseMiB)
    .option('--force-build', 'build images anew')
    .addOption(new Option('--build-network <network>', 'of Dockerfile steps').choices(['none', 'node']))
    .option('--map <ref=image>', 'an image that stands for a FROM name (repeatable)', collectPair)
    .optionsGroup('Verification:')
    .option('--ve <name=value>', 'variable of the verifier (repeatable)', collectVariable)
    .option('--in-place', 'verify in the agent’s own sandbox')
    .option('--disable-verification', 'run no tests')
    .optionsGroup('Options:')
    .action(run);
  command.addHelpText(
    'after',
    '\nExit code: 0 when the job ran to its end, whatever the rewards; 130 interrupted (`viv job resume` goes on).\n\nExample:\n  viv eval examples/tasks -a oracle -n 8',
  );
}

async function run(dir: string | undefined, flags: Flags): Promise<void> {
  const path = dir ?? flags.path;
  if (path === undefined) throw bad('no tasks named', 'Name a directory: viv eval DIR');
  if (dir !== undefined && flags.path !== undefined) throw bad('name the tasks once, as DIR or with -p');
  const begin = flags.jobName === undefined ? startUnnamedJob : startJob;
  await runToEnd(await begin(jobRequest(path, flags)), flags);
}

function jobRequest(path: string, flags: Flags): JobRequest {
  const { model, ae: env, agentBeside: beside } = flags;
  const stamp = new Date().toISOString().slice(0, 19).replace('T', '__').replaceAll(':', '-');
  return {
    path,
    id: newJobId(),
    jobName: flags.jobName ?? stamp,
    jobsDir: resolve(flags.jobsDir),
    agent: agentConfig(flags.agent, { ...(model && { model }), ...(env && { env }), ...(beside && { beside }) }),
    attempts: flags.attempts,
    concurrent: flags.concurrent,
    retries: flags.retries,
    timeoutMultiplier: flags.timeoutMultiplier,
    agentTimeoutMultiplier: flags.agentTimeoutMultiplier,
    verifierTimeoutMultiplier: flags.verifierTimeoutMultiplier,
    names: flags.task,
    include: flags.includeTask,
    exclude: flags.excludeTask,
    overrides: {
      force_build: flags.forceBuild ?? false,
      override_cpus: flags.overrideCpus ?? null,
      override_memory_mb: flags.overrideMemoryMb ?? null,
      override_storage_mb: flags.overrideStorageMb ?? null,
    },
    verifierEnv: flags.ve ?? {},
    disableVerification: flags.disableVerification ?? false,
    details: {
      buildNetwork: flags.buildNetwork ?? null,
      map: flags.map ?? {},
      inPlace: flags.inPlace ?? false,
      modelUrl: flags.modelUrl ?? null,
      modelPort: flags.modelPort,
      modelHeaders: flags.modelHeader ?? {},
      rerunSuspect: flags.rerunSuspect,
      keepState: flags.keepState,
    },
  };
}

/** `NAME` alone is kept as `${NAME}`: its value is looked up when the job runs and is not stored. */
function collectVariable(text: string, all: Record<string, string> = {}): Record<string, string> {
  if (text.includes('=')) return collectEnv(text, all);
  if (process.env[text] === undefined)
    throw bad(`the variable ${text} is not set here`, `Set it, or give ${text}=VALUE.`);
  return { ...all, [text]: `\${${text}}` };
}
