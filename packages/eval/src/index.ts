export { agentConfig } from './agent/index.ts';
export {
  type AgentConfig,
  type EnvironmentOverrides,
  type JobConfig,
  type JobRequest,
  jobConfig,
} from './job/config.ts';
export { findJob, findTrial, JobDirectory, listJobs } from './job/directory.ts';
export type { JobEvent } from './job/event.ts';
export type { JobPlan, PlannedTrial } from './job/plan.ts';
export { startRegrade } from './job/regrade.ts';
export { removeJob } from './job/remove.ts';
export { gradedScore, type JobResult } from './job/result.ts';
export { type LoadedTask, type RunOptions, runJob } from './job/run-job.ts';
export { runnerOf } from './job/runner-lock.ts';
export { reloadTasks, type StartedJob, startJob, startUnnamedJob } from './job/start.ts';
export { JobBoard } from './report/job-board.ts';
export { outcomeLine, reasonText, rewardText, summaryLines } from './report/summary.ts';
export { loadTask, loadTaskSet, resolveEnv, type Task, type TaskSet } from './task/index.ts';
export { readChanges } from './trial/changes-file.ts';
export { FileTree } from './trial/file-tree.ts';
export { isJobImage, shortDigest } from './trial/image-name.ts';
export { type Rewards, scoreOf, TRIAL_OUTCOMES, type TrialOutcome } from './trial/outcome.ts';
export type { TrialResult } from './trial/result.ts';
export {
  type Finding,
  type Severity,
  type TaskReport,
  type ValidateOptions,
  type ValidationReport,
  type ValidationRun,
  validateTasks,
} from './validate/index.ts';
