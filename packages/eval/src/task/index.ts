export type { EnvironmentConfig, PhaseConfig, TaskConfig, VerifierConfig, VivariumConfig } from './config.ts';
export type { Artifact, Healthcheck, McpServer, NetworkMode } from './config-parts.ts';
export type { Task, TaskEnvironment, TaskStep, TaskWarning } from './task.ts';
