import { agentConfig } from '../agent/index.ts';
import { type JobConfig, type JobRequest, jobConfig } from '../job/config.ts';
import type { Rewards, TrialOutcome } from '../trial/outcome.ts';
import type { TrialResult } from '../trial/result.ts';

export function fakeJobConfig(change: Partial<JobRequest> = {}): JobConfig {
  return jobConfig({
    path: '/some/set',
    jobName: 'job',
    jobsDir: '/jobs',
    id: 'id',
    agent: agentConfig('nop'),
    ...change,
  });
}

let count = 0;

/** A result with nothing in it but how it ended. */
export function fakeResult(task: string, outcome: TrialOutcome, rewards: Rewards | null): TrialResult {
  const name = `${task}__${String(++count).padStart(7, '0')}`;
  const at = '2026-11-30T00:00:00.000Z';
  return {
    id: name,
    task_name: task,
    trial_name: name,
    trial_uri: `file:///jobs/job/${name}`,
    task_id: { path: `/some/set/${task}` },
    source: 'set',
    task_checksum: '',
    config: { task: { path: task }, trial_name: name, trials_dir: '/jobs/job', job_id: 'id', attempt: 1 },
    agent_info: { name: 'nop', version: 'unknown', model_info: null },
    agent_result: null,
    verifier_result: rewards && { rewards },
    exception_info:
      outcome === 'infra_error'
        ? {
            exception_type: 'infra_error:node_full',
            exception_message: 'full',
            exception_traceback: '',
            occurred_at: at,
          }
        : null,
    started_at: at,
    finished_at: at,
    environment_setup: null,
    agent_setup: null,
    agent_execution: null,
    verifier: null,
    step_results: null,
    vivarium: {
      outcome,
      attempt: 1,
      images: { task: null, grader: null, state: null, graded: null },
      verification: null,
      treatment: null,
      suspect: false,
      suspectReasons: [],
      earlierTries: [],
      notes: [],
      timings: { totalMs: 1000, agentMs: 0, testMs: 0, overheadMs: 1000 },
    },
  };
}
