import {
  findJob,
  type JobDirectory,
  listJobs,
  outcomeLine,
  reloadTasks,
  removeJob,
  runnerOf,
  startRegrade,
  summaryLines,
} from '@vivarium/eval';
import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printJson, table } from '../console.ts';
import { JOBS_DIR, newJobId, runToEnd } from '../job-run.ts';
import { withServer } from '../one.ts';
import { trialTable } from '../trial-table.ts';
import { formatAge, parseCount } from '../units.ts';

type Common = ConnectionOptions & { jobsDir: string; json?: boolean; quiet?: boolean };

export function define(command: Command): void {
  const verb = (words: string, text: string) =>
    command.command(words).description(text).option('-o, --jobs-dir <dir>', 'where jobs are kept', JOBS_DIR);
  verb('ls', 'list jobs, newest first').option('--json', 'one JSON array').action(list);
  verb('show <job>', 'what came of a job and its trials').option('--json', 'its result as JSON').action(show);
  verb('resume <job>', 'run what is left of a job')
    .option('-q, --quiet', 'no progress, the summary only')
    .option('--json', 'the job’s result as JSON at the end')
    .action(resume);
  verb('regrade <job>', 'grade what its trials saved once more, as a new job; no agent runs')
    .option('--tests <dir>', 'tests to use: DIR/TASK/tests, DIR/TASK or DIR (default: the tasks’ own as they are now)')
    .option('-n, --concurrent <n>', 'trials at once', parseCount, 8)
    .option('--job-name <name>', 'of the new job')
    .option('-q, --quiet', 'no progress, the summary only')
    .option('--json', 'the new job’s result as JSON at the end')
    .action(regrade);
  verb('rm <job...>', 'remove jobs with the states of their trials').action(remove);
}

type RegradeFlags = Common & { tests?: string; concurrent: number; jobName?: string };

async function regrade(word: string, flags: RegradeFlags): Promise<void> {
  const started = await startRegrade(findJob(flags.jobsDir, word), {
    id: newJobId(),
    tests: flags.tests ?? null,
    concurrent: flags.concurrent,
    jobName: flags.jobName,
  });
  await runToEnd(started, flags);
}

async function remove(words: string[], flags: Common): Promise<void> {
  await withServer(flags, async (viv) => {
    for (const word of words) {
      const job = findJob(flags.jobsDir, word);
      await removeJob(viv, job);
      print(job.path);
    }
  });
}

function list(flags: Common): void {
  const jobs = listJobs(flags.jobsDir).map(brief);
  if (flags.json) return printJson(jobs);
  if (jobs.length === 0) return note(`no jobs in ${flags.jobsDir}`);
  const rows = jobs.map((job) => [
    job.name,
    job.state,
    `${job.done}/${job.total}`,
    job.agent,
    formatAge(job.startedAt),
    job.outcomes,
  ]);
  print(table(['JOB', 'STATE', 'TRIALS', 'AGENT', 'AGE', 'OUTCOMES'], rows));
}

function show(word: string, flags: Common): void {
  const job = findJob(flags.jobsDir, word);
  const { result } = job;
  if (flags.json) return printJson(result ?? null);
  print(table(['JOB', 'STATE', 'PATH'], [[brief(job).name, brief(job).state, job.path]]));
  print(trialTable(job.trialResults()));
  if (result) for (const line of summaryLines(result)) print(line);
}

async function resume(word: string, flags: Common): Promise<void> {
  const directory = findJob(flags.jobsDir, word);
  const { tasks, changed } = await reloadTasks(directory);
  const warnings = changed.map((id) => `task ${id} is not as it was when the job began`);
  await runToEnd({ directory, tasks, warnings }, flags);
}

function brief(job: JobDirectory) {
  const { result, plan, config } = job;
  const runs = runnerOf(job.path) !== undefined;
  return {
    name: config.job_name,
    path: job.path,
    state: runs ? 'running' : result?.finished_at ? 'done' : 'interrupted',
    agent: [config.agents[0]?.name, config.agents[0]?.model_name].filter(Boolean).join(' '),
    startedAt: result?.started_at ?? plan.created_at,
    done: result?.stats.n_completed_trials ?? 0,
    total: plan.trials.length,
    outcomes: outcomeLine(result?.vivarium.outcomes ?? {}),
  };
}
