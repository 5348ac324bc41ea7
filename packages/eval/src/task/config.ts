import type { Artifact, Healthcheck, McpServer, NetworkMode, Service } from './config-parts.ts';

/** task.toml with defaults, deprecated names replaced, units ours. Env values are raw: `resolveEnv` fills in `${VAR}`. */
export type TaskConfig = {
  schemaVersion: string;
  task: { name: string | null; description: string | null; authors: unknown[]; keywords: string[] };
  metadata: Record<string, unknown>;
  source: string | null;
  artifacts: Artifact[];
  multiStepRewardStrategy: 'mean' | 'final';
  agent: PhaseConfig;
  verifier: VerifierConfig;
  solution: { env: Record<string, string> };
  environment: EnvironmentConfig;
  vivarium: VivariumConfig;
};

/** `user`: name or uid as text; null: the image's USER. `timeoutMs` null: none. `networkMode` null: the environment's. */
export type PhaseConfig = {
  timeoutMs: number | null;
  user: string | null;
  networkMode: NetworkMode | null;
  allowedHosts: string[];
};

export type VerifierConfig = PhaseConfig & {
  timeoutMs: number;
  env: Record<string, string>;
  mode: 'shared' | 'separate';
  environment: EnvironmentConfig | null;
};

export type EnvironmentConfig = {
  dockerImage: string | null;
  buildTimeoutMs: number;
  /** null: the node's default (see `LIMITS` in the protocol). */
  cpus: number | null;
  memoryMiB: number | null;
  storageMiB: number | null;
  networkMode: NetworkMode;
  allowedHosts: string[];
  env: Record<string, string>;
  /** null: the image's WORKDIR. */
  workdir: string | null;
  healthcheck: Healthcheck | null;
  mcpServers: McpServer[];
  skillsDir: string | null;
};

/** Our own table, `[vivarium]` (or `[metadata.vivarium]`). */
export type VivariumConfig = {
  isolation: 'in_process' | 'black_box';
  verification: 'fresh' | 'in_place';
  /** Globs added to what never carries over from the agent's sandbox to the verifier's. */
  protect: string[];
  /** What the agent is expected to change; empty: the workdir. */
  workspace: string[];
  buildNetwork: 'none' | 'node';
  /** Started in the agent's sandbox before its health is asked for; they run on until the sandbox ends. */
  services: Service[];
  /** Are they started in a fresh verifier's sandbox too, before its tests? */
  servicesInVerifier: boolean;
};
