import { appendFileSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { VivError } from '@vivarium/sdk';
import { makeDirectory } from '@vivarium/sdk/node';
import type { TrialResult } from '../trial/result.ts';
import type { JobConfig } from './config.ts';
import { readJson, writeJson } from './json-file.ts';
import type { JobPlan } from './plan.ts';
import type { JobResult } from './result.ts';

/** `jobs/<job>/` on disk, in Harbor's layout. A trial is done when its result.json is whole. */
export class JobDirectory {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
  }

  /** A new one; `job_exists` when the name is taken by a job. */
  static create(jobsDir: string, name: string): JobDirectory {
    const directory = new JobDirectory(join(jobsDir, name));
    try {
      makeDirectory(jobsDir);
      mkdirSync(directory.path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST')
        throw new VivError('invalid_argument', `can't make ${directory.path}: ${(error as Error).message}`, {
          hint: 'Choose a directory that can be made, with -o (`jobsDir`).',
        });
      throw new VivError('job_exists', `there is already a job ${directory.path}`);
    }
    return directory;
  }

  /** An existing one; `job_not_found`. */
  static open(path: string): JobDirectory {
    const directory = new JobDirectory(path);
    if (!existsSync(join(directory.path, 'config.json')))
      throw new VivError('job_not_found', `there is no job in ${directory.path}`);
    return directory;
  }

  get config(): JobConfig {
    return this.#read<JobConfig>('config.json');
  }

  get plan(): JobPlan {
    return this.#read<JobPlan>('lock.json');
  }

  get result(): JobResult | undefined {
    return readJson<JobResult>(join(this.path, 'result.json'));
  }

  /** The plan goes first: a directory with a config.json is a whole job. */
  begin(config: JobConfig, plan: JobPlan): void {
    writeJson(join(this.path, 'lock.json'), plan);
    writeJson(join(this.path, 'config.json'), config, { mode: 0o600 });
  }

  writeResult(result: JobResult, durable: boolean): void {
    writeJson(join(this.path, 'result.json'), result, { durable });
  }

  log(line: string): void {
    appendFileSync(join(this.path, 'job.log'), `${new Date().toISOString()} ${line}\n`);
  }

  trialPath(name: string): string {
    return join(this.path, name);
  }

  /** Undefined: not finished. */
  trialResult(name: string): TrialResult | undefined {
    return readJson<TrialResult>(join(this.path, name, 'result.json'));
  }

  /** The results of all finished trials, in the plan's order. */
  trialResults(): TrialResult[] {
    return this.plan.trials
      .map(({ trial_name }) => this.trialResult(trial_name))
      .filter((result) => result !== undefined);
  }

  #read<T>(file: string): T {
    const value = readJson<T>(join(this.path, file));
    if (value === undefined) throw new VivError('job_not_found', `${join(this.path, file)} is missing or broken`);
    return value;
  }
}

/** The jobs below a directory, newest first. */
export function listJobs(jobsDir: string): JobDirectory[] {
  if (!existsSync(jobsDir)) return [];
  return readdirSync(jobsDir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(jobsDir, entry.name, 'config.json')))
    .map((entry) => join(jobsDir, entry.name))
    .map((path) => ({ path, at: statSync(join(path, 'lock.json'), { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.at - a.at)
    .map(({ path }) => new JobDirectory(path));
}

/** By path, by name below jobsDir, or by the beginning of one name; `job_not_found` names what there is. */
export function findJob(jobsDir: string, word: string): JobDirectory {
  for (const path of [join(jobsDir, word), word])
    if (existsSync(join(path, 'config.json'))) return JobDirectory.open(path);
  const near = listJobs(jobsDir).filter(({ path }) => path.split('/').at(-1)!.startsWith(word));
  if (near.length === 1) return near[0]!;
  throw new VivError(
    'job_not_found',
    near.length > 1
      ? `${word} is the beginning of ${near.length} jobs in ${jobsDir}`
      : `there is no job ${word} in ${resolve(jobsDir)}`,
  );
}

/** By path, `job/trial`, name, or the beginning of one name. One that was graded again is the newest that has finished. */
export function findTrial(jobsDir: string, word: string): { job: JobDirectory; name: string; result: TrialResult } {
  const found = listJobs(jobsDir).flatMap((job) => {
    const jobName = job.path.split('/').at(-1)!;
    return job.plan.trials
      .map(({ trial_name }) => trial_name)
      .filter((name) => name.startsWith(word) || `${jobName}/${name}` === word || job.trialPath(name) === resolve(word))
      .map((name) => ({ job, name }));
  });
  const exact = found.filter(({ name }) => name === word);
  const candidates = exact.length > 0 ? exact : found;
  const [first] = candidates;
  if (!first) throw new VivError('trial_not_found', `there is no trial ${word} in the jobs of ${resolve(jobsDir)}`);
  const second = candidates.find(({ name }) => name !== first.name);
  if (second)
    throw new VivError(
      'trial_not_found',
      `${word} is the beginning of several trials, such as ${first.name} and ${second.name}`,
    );
  for (const candidate of candidates) {
    const result = candidate.job.trialResult(candidate.name);
    if (result) return { ...candidate, result };
  }
  throw new VivError('trial_not_found', `trial ${first.name} has not finished`);
}
