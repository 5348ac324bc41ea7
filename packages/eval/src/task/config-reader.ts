import { taskInvalid } from './complaint.ts';
import type { TaskConfig } from './config.ts';
import { modernised } from './deprecated-fields.ts';
import { toArtifact, toEnvironment, toHealthcheck, toPhase, toService, toVerifier } from './field-values.ts';
import { refuse } from './refusal.ts';
import { type StepToml, TaskToml } from './schema.ts';
import { strictParse } from './strict-parse.ts';
import type { TaskStep, TaskWarning } from './task.ts';
import { parseToml, type TomlFile } from './toml-file.ts';

export const TASK_FILE = 'task.toml';
const SCHEMA_NEWEST = [1, 3];

/** What task.toml says about a step; the files of its folder come later. */
export type StepConfig = Pick<TaskStep, 'name' | 'agent' | 'verifier' | 'minReward' | 'healthcheck' | 'artifacts'>;
export type ReadConfig = { config: TaskConfig; steps: StepConfig[]; warnings: TaskWarning[] };

/** The text of a task.toml, checked, with defaults. Throws `task_invalid` or `task_refused`, naming field and line. */
export function readConfig(text: string): ReadConfig {
  const toml = parseToml(text, TASK_FILE);
  const warnings: TaskWarning[] = [];
  const data = modernised(toml, warnings);
  const parsed = strictParse(TaskToml, data, toml, warnings, ['vivarium']);
  refuse(parsed, toml, warnings);
  const config = toConfig(parsed, ourTable(parsed, toml));
  noteVersion(config.schemaVersion, warnings);
  const steps = (parsed.steps ?? []).map((step) => toStep(step, config));
  checkServices(config, steps);
  const twice = steps.find(({ name }, n) => steps.findIndex((other) => other.name === name) !== n);
  if (twice !== undefined)
    throw taskInvalid({ file: TASK_FILE, field: 'steps' }, `two steps are named "${twice.name}"`);
  return { config, steps, warnings };
}

/** Names tell services apart in messages; what could not be graded as it is asked for is said before anything runs. */
function checkServices({ vivarium, verifier }: TaskConfig, steps: StepConfig[]): void {
  const { services, servicesInVerifier, isolation } = vivarium;
  const twice = services.find(({ name }, n) => services.findIndex((other) => other.name === name) !== n);
  if (twice !== undefined)
    throw taskInvalid({ file: TASK_FILE, field: 'vivarium.services' }, `two services are named "${twice.name}"`);
  if (!servicesInVerifier) return;
  const place = { file: TASK_FILE, field: 'vivarium.services_in_verifier' };
  if (services.length === 0) throw taskInvalid(place, 'is true, but there are no services');
  if (isolation === 'black_box')
    throw taskInvalid(place, 'is true, but the grader of a black box shares its sandbox with nothing of the agent’s');
  if ([{ verifier }, ...steps].some((step) => step.verifier.mode === 'separate'))
    throw taskInvalid(place, 'is true, but a separate verifier has an environment of its own');
}

function toConfig(parsed: TaskToml, ours: TaskToml['vivarium']): TaskConfig {
  return {
    schemaVersion: parsed.schema_version ?? SCHEMA_NEWEST.join('.'),
    task: {
      name: parsed.task?.name ?? null,
      description: parsed.task?.description ?? null,
      authors: parsed.task?.authors ?? [],
      keywords: parsed.task?.keywords ?? [],
    },
    metadata: parsed.metadata ?? {},
    source: parsed.source ?? null,
    artifacts: (parsed.artifacts ?? []).map(toArtifact),
    multiStepRewardStrategy: parsed.multi_step_reward_strategy ?? 'mean',
    agent: toPhase(parsed.agent),
    verifier: toVerifier(parsed.verifier),
    solution: { env: parsed.solution?.env ?? {} },
    environment: toEnvironment(parsed.environment ?? {}),
    vivarium: {
      isolation: ours?.isolation ?? 'in_process',
      verification: ours?.verification ?? 'fresh',
      protect: ours?.protect ?? [],
      workspace: ours?.workspace ?? [],
      buildNetwork: ours?.build_network ?? 'none',
      services: (ours?.services ?? []).map(toService),
      servicesInVerifier: ours?.services_in_verifier ?? false,
    },
  };
}

function toStep(step: StepToml, config: TaskConfig): StepConfig {
  return {
    name: step.name,
    agent: toPhase(step.agent, config.agent),
    verifier: toVerifier(step.verifier, config.verifier),
    minReward: typeof step.min_reward === 'number' ? { reward: step.min_reward } : (step.min_reward ?? null),
    healthcheck: step.healthcheck === undefined ? null : toHealthcheck(step.healthcheck),
    artifacts: (step.artifacts ?? []).map(toArtifact),
  };
}

/** `[vivarium]`, or `[metadata.vivarium]` for tools that accept nothing else; not both. */
function ourTable(parsed: TaskToml, toml: TomlFile): TaskToml['vivarium'] {
  const inner = parsed.metadata?.vivarium;
  if (inner === undefined) return parsed.vivarium;
  const field = 'metadata.vivarium';
  const place = { file: TASK_FILE, field, line: toml.lineOf(['metadata', 'vivarium']) };
  if (parsed.vivarium !== undefined) throw taskInvalid(place, 'is given beside [vivarium]; keep one of them');
  if (typeof inner !== 'object' || inner === null) throw taskInvalid(place, 'expected a table');
  const moved: TomlFile = { ...toml, lineOf: (path) => toml.lineOf(['metadata', ...path]) };
  return strictParse(TaskToml.pick({ vivarium: true }), { vivarium: inner }, moved, [], ['vivarium']).vivarium;
}

function noteVersion(version: string, warnings: TaskWarning[]): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [newestMajor = 0, newestMinor = 0] = SCHEMA_NEWEST;
  if (major < newestMajor || (major === newestMajor && minor <= newestMinor)) return;
  const message = `is ${version}; what came after ${SCHEMA_NEWEST.join('.')} is not known here`;
  warnings.push({ file: TASK_FILE, field: 'schema_version', message });
}
