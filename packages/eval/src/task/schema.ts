import { z } from 'zod';

/**
 * task.toml as it is written (after deprecated-fields.ts), checked strictly; units become ours on the way. Nothing has a
 * default here: steps fall back to the task, and config-reader.ts knows how.
 */
const SECONDS_MAX = 30 * 86_400;
const MIB_MAX = 1_048_576;

const seconds = z
  .number()
  .min(0)
  .max(SECONDS_MAX)
  .transform((value) => Math.round(value * 1000));
const timeout = z
  .number()
  .positive()
  .max(SECONDS_MAX)
  .transform((value) => Math.max(1, Math.round(value * 1000)));
const text = z
  .string()
  .min(1)
  .max(4096)
  .refine((value) => !value.includes('\0'), 'holds a NUL');
const command = z
  .string()
  .min(1)
  .max(65_536)
  .refine((value) => !value.includes('\0'), 'holds a NUL');
const absolute = text.startsWith('/', 'must be an absolute path inside the sandbox');
const names = z.array(text).max(1000);
const NO_USER = 'expected a user name or a uid';
const user = z
  .union(
    [
      z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,63})?$/, NO_USER),
      z.int().min(0),
    ],
    {
      error: NO_USER,
    },
  )
  .transform(String);
const host = z
  .string()
  .regex(
    /^(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$/,
    'expected a host name or *.suffix: no scheme, port or path',
  );
const env = z.record(
  z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'a variable name is [A-Za-z_][A-Za-z0-9_]*'),
  z
    .string({ error: 'expected text; write the value in quotes' })
    .max(131_072)
    .refine((value) => !value.includes('\0'), 'holds a NUL'),
);

const network = {
  network_mode: z.enum(['public', 'no-network', 'allowlist']).optional(),
  allowed_hosts: z.array(host).max(1000).optional(),
};
const healthcheck = z.strictObject({
  command,
  interval_sec: seconds.optional(),
  timeout_sec: timeout.optional(),
  start_period_sec: seconds.optional(),
  start_interval_sec: seconds.optional(),
  retries: z.int().min(1).max(1000).optional(),
});
const mcpServer = z.strictObject({
  name: text,
  transport: z.enum(['stdio', 'sse', 'streamable-http']).optional(),
  url: text.optional(),
  command: text.optional(),
  args: z.array(z.string().max(131_072)).max(1000).optional(),
});
const environment = z.strictObject({
  docker_image: text.optional(),
  build_timeout_sec: timeout.optional(),
  os: z.string().optional(),
  cpus: z.number().positive().max(1024).optional(),
  memory_mb: z.int().min(16).max(MIB_MAX).optional(),
  storage_mb: z.int().min(1).max(MIB_MAX).optional(),
  gpus: z.int().min(0).optional(),
  gpu_types: names.optional(),
  ...network,
  env: env.optional(),
  workdir: absolute.optional(),
  healthcheck: healthcheck.optional(),
  mcp_servers: z.array(mcpServer).max(100).optional(),
  skills_dir: text.optional(),
});
const artifact = z.strictObject({
  source: text,
  destination: text
    .refine((path) => !path.startsWith('/') && !path.split('/').includes('..'), 'must stay below artifacts/')
    .optional(),
  exclude: names.optional(),
});
const agent = z.strictObject({ timeout_sec: timeout.optional(), user: user.optional(), ...network });
const verifier = z.strictObject({
  timeout_sec: timeout.optional(),
  user: user.optional(),
  ...network,
  env: env.optional(),
  environment_mode: z.enum(['shared', 'separate']).optional(),
  environment: environment.optional(),
});
const step = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/, 'a step is named like its folder: [A-Za-z0-9_.-]'),
  agent: agent.optional(),
  verifier: verifier.optional(),
  min_reward: z
    .union([z.number(), z.record(z.string().min(1), z.number())], { error: 'expected a number or { key = number }' })
    .optional(),
  healthcheck: healthcheck.optional(),
  artifacts: z.array(artifact).max(1000).optional(),
});
const SERVICES_MAX = 32;
const NO_SERVICE = 'expected a command (text), or { name, command, user }';
/** Text is short for a table with nothing but a command. A value that is neither is told as the table's. */
const service = z.preprocess(
  (value) => (typeof value === 'string' ? { command: value } : value),
  z.strictObject(
    {
      name: z
        .string()
        .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/, 'a service is named with [A-Za-z0-9_.-]')
        .optional(),
      command,
      user: user.optional(),
    },
    { error: (issue) => (issue.code === 'invalid_type' ? NO_SERVICE : undefined) },
  ),
);
/** Our own table. A spelling mistake in it could weaken a grade unseen, so unknown keys are an error here. */
const vivarium = z.strictObject({
  isolation: z.enum(['in_process', 'black_box']).optional(),
  verification: z.enum(['fresh', 'in_place']).optional(),
  protect: names.optional(),
  workspace: z.array(absolute).max(1000).optional(),
  build_network: z.enum(['none', 'node']).optional(),
  services: z.array(service).max(SERVICES_MAX).optional(),
  services_in_verifier: z.boolean().optional(),
});

export const TaskToml = z.strictObject({
  schema_version: z
    .union([z.string(), z.number()], { error: 'expected text such as "1.3"' })
    .transform(String)
    .optional(),
  task: z
    .strictObject({
      name: z
        .string()
        .max(128)
        .regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]*(\/[A-Za-z0-9_][A-Za-z0-9_.-]*)?$/, 'a task is named org/name')
        .optional(),
      description: z.string().optional(),
      authors: z.array(z.unknown()).optional(),
      keywords: z.array(z.string()).optional(),
    })
    .optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  source: z.string().optional(),
  artifacts: z.array(artifact).max(1000).optional(),
  multi_step_reward_strategy: z.enum(['mean', 'final']).optional(),
  agent: agent.optional(),
  verifier: verifier.optional(),
  solution: z.strictObject({ env: env.optional() }).optional(),
  environment: environment.optional(),
  steps: z.array(step).max(1000).optional(),
  vivarium: vivarium.optional(),
});
export type TaskToml = z.output<typeof TaskToml>;
export type AgentToml = z.output<typeof agent>;
export type VerifierToml = z.output<typeof verifier>;
export type EnvironmentToml = z.output<typeof environment>;
export type HealthcheckToml = z.output<typeof healthcheck>;
export type ArtifactToml = z.output<typeof artifact>;
export type StepToml = z.output<typeof step>;
export type ServiceToml = z.output<typeof service>;
