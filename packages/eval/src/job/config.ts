import { VivError } from '@vivarium/sdk';

/**
 * config.json of a job: Harbor's keys, and ours in the API's casing below `vivarium`. It is all that `resume` needs.
 * Values of variables may be `${NAME}`: looked up when the job runs, so that a secret need not be stored.
 */
export type JobConfig = {
  job_name: string;
  jobs_dir: string;
  n_attempts: number;
  n_concurrent_trials: number;
  timeout_multiplier: number;
  agent_timeout_multiplier: number | null;
  verifier_timeout_multiplier: number | null;
  retry: { max_retries: number };
  agents: AgentConfig[];
  environment: EnvironmentOverrides;
  verifier: { disable: boolean; env: Record<string, string> };
  datasets: DatasetConfig[];
  vivarium: JobDetails;
};

export type AgentConfig = {
  name: string;
  model_name: string | null;
  env: Record<string, string>;
  kwargs: {
    /** Null for oracle and nop. */
    command: string | null;
    /** In the task's sandbox, or on the client's machine. */
    place: 'inside' | 'beside';
  };
};

export type EnvironmentOverrides = {
  force_build: boolean;
  override_cpus: number | null;
  override_memory_mb: number | null;
  override_storage_mb: number | null;
};

export type DatasetConfig = { path: string; task_names: string[]; exclude_task_names: string[]; names: string[] };

export type JobDetails = {
  /** Unique to this run of the job's first planning; labels and leases carry it. */
  id: string;
  buildNetwork: 'none' | 'node' | null;
  /** FROM name → image of ours. */
  map: Record<string, string>;
  inPlace: boolean;
  modelUrl: string | null;
  modelPort: number;
  /** Headers that the model endpoint gets and the sandbox never sees. */
  modelHeaders: Record<string, string>;
  /** Trials that the host disturbed are run again at most this often. */
  rerunSuspect: number;
  /** Keep each trial's state for `trial open` and `regrade`. */
  keepState: boolean;
  /** Directory of the job whose trials this one grades again; null: an ordinary job. */
  regradeOf: string | null;
  /** Where that takes its tests from; null: from the tasks. */
  regradeTests: string | null;
};

export const JOB_LIMITS = {
  attempts: 10_000,
  concurrent: 1000,
  retries: 100,
  trials: 100_000,
} as const;

const NO_OVERRIDES: EnvironmentOverrides = {
  force_build: false,
  override_cpus: null,
  override_memory_mb: null,
  override_storage_mb: null,
};

/** What a caller must say; all else has defaults. */
export type JobRequest = {
  path: string;
  jobName: string;
  jobsDir: string;
  id: string;
  agent: AgentConfig;
  attempts?: number;
  concurrent?: number;
  retries?: number;
  timeoutMultiplier?: number;
  agentTimeoutMultiplier?: number;
  verifierTimeoutMultiplier?: number;
  names?: string[];
  include?: string[];
  exclude?: string[];
  overrides?: Partial<EnvironmentOverrides>;
  verifierEnv?: Record<string, string>;
  disableVerification?: boolean;
  details?: Partial<Omit<JobDetails, 'id'>>;
};

/** Fills in defaults and checks the bounds. Throws `invalid_argument` naming the setting. */
export function jobConfig(request: JobRequest): JobConfig {
  const attempts = whole('attempts (-k)', request.attempts ?? 1, 1, JOB_LIMITS.attempts);
  const concurrent = whole('concurrent trials (-n)', request.concurrent ?? 4, 1, JOB_LIMITS.concurrent);
  const retries = whole('retries (-r)', request.retries ?? 2, 0, JOB_LIMITS.retries);
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(request.jobName))
    throw new VivError('invalid_argument', `not a job name: ${request.jobName}`, {
      hint: 'Letters, digits, dots, dashes and underscores, at most 128.',
    });
  const { modelUrl } = request.details ?? {};
  if (modelUrl && !(URL.canParse(modelUrl) && /^https?:$/.test(new URL(modelUrl).protocol)))
    throw new VivError('invalid_argument', `the model's address (--model-url) is no URL: ${modelUrl}`, {
      hint: 'Such as http://10.0.0.5:8000/v1.',
    });
  return {
    job_name: request.jobName,
    jobs_dir: request.jobsDir,
    n_attempts: attempts,
    n_concurrent_trials: concurrent,
    timeout_multiplier: factor('--timeout-multiplier', request.timeoutMultiplier ?? 1),
    agent_timeout_multiplier: optionalFactor('--agent-timeout-multiplier', request.agentTimeoutMultiplier),
    verifier_timeout_multiplier: optionalFactor('--verifier-timeout-multiplier', request.verifierTimeoutMultiplier),
    retry: { max_retries: retries },
    agents: [request.agent],
    environment: { ...NO_OVERRIDES, ...request.overrides },
    verifier: { disable: request.disableVerification ?? false, env: request.verifierEnv ?? {} },
    datasets: [
      {
        path: request.path,
        task_names: request.include ?? [],
        exclude_task_names: request.exclude ?? [],
        names: request.names ?? [],
      },
    ],
    vivarium: {
      id: request.id,
      buildNetwork: null,
      map: {},
      inPlace: false,
      modelUrl: null,
      modelPort: 8000,
      modelHeaders: {},
      rerunSuspect: 0,
      keepState: true,
      regradeOf: null,
      regradeTests: null,
      ...request.details,
    },
  };
}

function whole(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new VivError('invalid_argument', `${name} is a whole number from ${min} to ${max}, not ${value}`);
}

function factor(name: string, value: number): number {
  if (Number.isFinite(value) && value > 0 && value <= 1000) return value;
  throw new VivError('invalid_argument', `${name} is a number above 0, at most 1000, not ${value}`);
}

function optionalFactor(name: string, value: number | undefined): number | null {
  return value === undefined ? null : factor(name, value);
}
