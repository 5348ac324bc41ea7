import type { EnvironmentConfig, PhaseConfig, VerifierConfig } from './config.ts';
import type { Artifact, Healthcheck, Service } from './config-parts.ts';
import type { AgentToml, ArtifactToml, EnvironmentToml, HealthcheckToml, ServiceToml, VerifierToml } from './schema.ts';

const VERIFIER_TIMEOUT_MS = 600_000;
const BUILD_TIMEOUT_MS = 600_000;
const NO_PHASE: PhaseConfig = { timeoutMs: null, user: null, networkMode: null, allowedHosts: [] };
const NO_VERIFIER: VerifierConfig = {
  ...NO_PHASE,
  timeoutMs: VERIFIER_TIMEOUT_MS,
  env: {},
  mode: 'shared',
  environment: null,
};

/** The agent's phase; what it leaves out is as in `task` (for a step). */
export function toPhase(table: AgentToml = {}, task: PhaseConfig = NO_PHASE): PhaseConfig {
  const hosts = table.allowed_hosts ?? [];
  const ownNetwork = table.network_mode !== undefined || hosts.length > 0;
  return {
    timeoutMs: table.timeout_sec ?? task.timeoutMs,
    user: table.user ?? task.user,
    networkMode: ownNetwork ? (table.network_mode ?? 'allowlist') : task.networkMode,
    allowedHosts: ownNetwork ? hosts : task.allowedHosts,
  };
}

/** The verifier's phase. A table `environment` means a sandbox of its own. A step's variables add to the task's. */
export function toVerifier(table: VerifierToml = {}, task: VerifierConfig = NO_VERIFIER): VerifierConfig {
  const { timeoutMs, ...phase } = toPhase(table, task);
  const environment = table.environment === undefined ? task.environment : toEnvironment(table.environment);
  const mode = table.environment_mode ?? (table.environment === undefined ? task.mode : 'separate');
  return {
    ...phase,
    timeoutMs: timeoutMs ?? task.timeoutMs,
    env: { ...task.env, ...table.env },
    mode,
    environment: mode === 'separate' ? environment : null,
  };
}

export function toEnvironment(table: EnvironmentToml): EnvironmentConfig {
  const hosts = table.allowed_hosts ?? [];
  return {
    dockerImage: table.docker_image ?? null,
    buildTimeoutMs: table.build_timeout_sec ?? BUILD_TIMEOUT_MS,
    cpus: table.cpus ?? null,
    memoryMiB: table.memory_mb ?? null,
    storageMiB: table.storage_mb ?? null,
    networkMode: table.network_mode ?? (hosts.length > 0 ? 'allowlist' : 'public'),
    allowedHosts: hosts,
    env: table.env ?? {},
    workdir: table.workdir ?? null,
    healthcheck: table.healthcheck === undefined ? null : toHealthcheck(table.healthcheck),
    mcpServers: (table.mcp_servers ?? []).map(({ name, transport = 'sse', url = null, command = null, args = [] }) => ({
      name,
      transport,
      url,
      command,
      args,
    })),
    skillsDir: table.skills_dir ?? null,
  };
}

export function toHealthcheck(table: HealthcheckToml): Healthcheck {
  return {
    command: table.command,
    intervalMs: table.interval_sec ?? 5000,
    timeoutMs: table.timeout_sec ?? 30_000,
    startPeriodMs: table.start_period_sec ?? 0,
    startIntervalMs: table.start_interval_sec ?? 5000,
    retries: table.retries ?? 3,
  };
}

export function toArtifact({ source, destination, exclude }: ArtifactToml): Artifact {
  return { source, destination: destination ?? null, exclude: exclude ?? [] };
}

/** Without a name it has its place in the list. */
export function toService({ name, command, user }: ServiceToml, index: number): Service {
  return { name: name ?? `service-${index + 1}`, command, user: user ?? null };
}
