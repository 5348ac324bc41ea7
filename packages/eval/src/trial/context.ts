import type { Vivarium } from '@vivarium/sdk';
import type { Agent } from '../agent/agent.ts';
import type { JobConfig } from '../job/config.ts';
import type { HostWatch } from '../job/host-watch.ts';
import type { JobLease } from '../job/lease.ts';
import type { TaskImages } from './task-images.ts';

/** What all trials of a running job share. */
export type TrialContext = {
  viv: Vivarium;
  lease: JobLease;
  job: JobConfig;
  agent: Agent;
  images: TaskImages;
  host: HostWatch;
  /** `jobs/<job>` on this machine. */
  jobDir: string;
  /** Name of the task set. */
  source: string;
  /** The client's environment: `${VAR}` values come from it. */
  hostEnv: Readonly<Record<string, string | undefined>>;
  connection: { url: string; apiKey: string | undefined };
  signal: AbortSignal;
};

export type Phase = 'images' | 'start' | 'agent' | 'collect' | 'verify';
