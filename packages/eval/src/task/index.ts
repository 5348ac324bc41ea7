export type { EnvironmentConfig, PhaseConfig, TaskConfig, VerifierConfig, VivariumConfig } from './config.ts';
export type { Artifact, Healthcheck, McpServer, NetworkMode, Service } from './config-parts.ts';
export { resolveEnv } from './env.ts';
export { loadTask } from './load-task.ts';
export { readForSandbox } from './script.ts';
export type { Task, TaskEnvironment, TaskStep, TaskWarning } from './task.ts';
export { type BrokenTask, loadTaskSet, type TaskFilter, type TaskSet } from './task-set.ts';
