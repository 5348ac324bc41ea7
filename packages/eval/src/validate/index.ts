export type { Finding, Severity } from './finding.ts';
export type { TaskReport, ValidationReport, ValidationRun } from './report.ts';
export { type ValidateOptions, validateTasks } from './validate.ts';
