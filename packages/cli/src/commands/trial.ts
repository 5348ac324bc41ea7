import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { findTrial, reasonText, rewardText } from '@vivarium/eval';
import type { Command } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printJson, table } from '../console.ts';
import { JOBS_DIR } from '../job-run.ts';
import { formatSeconds } from '../units.ts';

type Common = ConnectionOptions & { jobsDir: string; json?: boolean };

export function define(command: Command): void {
  const verb = (words: string, text: string) =>
    command.command(words).description(text).option('-o, --jobs-dir <dir>', 'where jobs are kept', JOBS_DIR);
  verb('show <trial>', 'what came of a trial').option('--json', 'its result as JSON').action(show);
  verb('logs <trial>', 'what agent and verifier wrote').action(logs);
}

function show(word: string, flags: Common): void {
  const { job, name, result } = findTrial(flags.jobsDir, word);
  if (flags.json) return printJson(result);
  const { outcome, images, verification, timings, suspectReasons, notes, earlierTries } = result.vivarium;
  const rows: string[][] = [
    ['trial', name],
    ['task', result.task_name],
    ['outcome', outcome],
    ['reward', result.verifier_result ? JSON.stringify(result.verifier_result.rewards) : rewardText(result)],
    [
      'time',
      `${formatSeconds(timings.totalMs / 1000)} (agent ${formatSeconds(timings.agentMs / 1000)}, tests ${formatSeconds(timings.testMs / 1000)})`,
    ],
    ['directory', job.trialPath(name)],
    ['image', images.task?.name ?? '-'],
    ['state', images.state ?? '-'],
    ['verified', verification ? `${verification.mode}, ${verification.isolation}` : '-'],
    ...(verification?.tampering ?? []).slice(0, 20).map((item) => ['tampering', JSON.stringify(item)]),
    ...suspectReasons.map((reason) => ['suspect', reason]),
    ...earlierTries.map((earlier) => ['earlier', `${earlier.outcome}: ${earlier.message.split('\n')[0]}`]),
    ...notes.map((text) => ['note', text]),
  ];
  if (reasonText(result)) rows.push(['reason', reasonText(result)]);
  print(table(['', ''], rows).split('\n').slice(1).join('\n'));
}

function logs(word: string, flags: Common): void {
  const { job, name } = findTrial(flags.jobsDir, word);
  const dir = job.trialPath(name);
  const files = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(txt|log|md)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  if (files.length === 0) throw bad(`trial ${name} has no logs`);
  for (const file of files) {
    note(`--- ${file.slice(dir.length + 1)}`);
    process.stdout.write(readFileSync(file));
  }
}
