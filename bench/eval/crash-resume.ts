import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { JobDirectory } from '@vivarium/eval';
import { collect, type Vivarium } from '@vivarium/sdk';

const VIV = join(import.meta.dirname, '../../bin/viv');
const PATIENCE_MS = 300_000;

/** A node whose server can be killed. */
export type CrashBed = {
  url: string;
  key: string;
  viv: Vivarium;
  /** SIGKILL to the server; resolves when it answers again. */
  crash(): Promise<void>;
};

export type CrashResume = { resume_twice: number; resume_lost: number };

/**
 * Runs a job of `count` trials of one task and kills, all by SIGKILL: the client at a third, the server right after; then resumes, and kills the
 * server once more at two thirds. Counts trials that were run after they had a result, or had two sandboxes at a time, and trials without one.
 */
export async function crashResume(
  bed: CrashBed,
  options: { dir: string; jobs: string; count: number },
): Promise<CrashResume> {
  const { dir, jobs, count } = options;
  const name = `crash-${Date.now().toString(36)}`;
  const path = join(jobs, name);
  const first = client(bed, [
    'eval',
    dir,
    '-a',
    'nop',
    '-k',
    String(count),
    '-n',
    '8',
    '-o',
    jobs,
    '--job-name',
    name,
    '-q',
  ]);
  await results(path, count / 3, first);
  first.kill('SIGKILL');
  await once(first, 'exit');
  const early = idsOf(path);
  await bed.crash();
  const second = client(bed, ['job', 'resume', name, '-o', jobs, '-q']);
  await results(path, (count * 2) / 3, second);
  const middle = idsOf(path);
  await bed.crash();
  if (second.exitCode === null) await once(second, 'exit');
  return judge(bed, path, count, [early, middle]);
}

async function judge(bed: CrashBed, path: string, count: number, before: Map<string, string>[]): Promise<CrashResume> {
  const after = idsOf(path);
  const again = new Set<string>();
  for (const [trial, id] of before.flatMap((ids) => [...ids])) if (after.get(trial) !== id) again.add(trial);
  const { id } = JobDirectory.open(path).config.vivarium;
  const boxes = await collect(bed.viv.sandboxes.list({ labels: { 'viv.job': id, 'viv.role': 'agent' } }));
  for (const [trial, its] of Map.groupBy(boxes, ({ info }) => info.labels['viv.trial'] ?? '')) {
    const lives = its.map(
      ({ info }) => [Date.parse(info.createdAt), Date.parse(info.endedAt ?? '') || Infinity] as const,
    );
    lives.sort(([a], [b]) => a - b);
    if (lives.some(([from], index) => index > 0 && from < lives[index - 1]![1])) again.add(trial);
  }
  const lost = JobDirectory.open(path).plan.trials.filter(({ trial_name }) => !after.has(trial_name)).length;
  const failed = JobDirectory.open(path)
    .trialResults()
    .filter(({ vivarium }) => vivarium.outcome === 'infra_error').length;
  return { resume_twice: again.size, resume_lost: lost + failed + Math.max(0, count - after.size - lost) };
}

/** Trials that have a result, with the result's own id. */
function idsOf(path: string): Map<string, string> {
  return new Map(
    JobDirectory.open(path)
      .trialResults()
      .map(({ trial_name, id }) => [trial_name, id]),
  );
}

async function results(path: string, least: number, child: ChildProcess): Promise<void> {
  const end = Date.now() + PATIENCE_MS;
  while (!existsSync(join(path, 'config.json')) || idsOf(path).size < least) {
    if (child.exitCode !== null) throw new Error(`viv ended with ${child.exitCode} before it was killed`);
    if (Date.now() > end) throw new Error(`no ${least} results of ${path} in time`);
    await sleep(50);
  }
}

function client(bed: CrashBed, args: string[]): ChildProcess {
  const env = { ...process.env, VIV_URL: bed.url, VIV_API_KEY: bed.key };
  return spawn(VIV, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
}
