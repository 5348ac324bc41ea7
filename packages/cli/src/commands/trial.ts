import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findTrial, readChanges, reasonText, rewardText } from '@vivarium/eval';
import type { Command } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import {
  interactive,
  note,
  print,
  printJson,
  printLine,
  table,
  visible,
  visibleLines,
  visibleText,
} from '../console.ts';
import { foreground } from '../foreground.ts';
import { JOBS_DIR } from '../job-run.ts';
import { withServer } from '../one.ts';
import { LOGIN_SHELL } from '../shell.ts';
import { formatSeconds } from '../units.ts';
import { Exit } from '../verb-program.ts';

type Common = ConnectionOptions & { jobsDir: string; json?: boolean };

export function define(command: Command): void {
  const verb = (words: string, text: string) =>
    command.command(words).description(text).option('-o, --jobs-dir <dir>', 'where jobs are kept', JOBS_DIR);
  verb('show <trial>', 'what came of a trial').option('--json', 'its result as JSON').action(show);
  verb('open <trial>', 'a shell in the state that it ended in')
    .option('-i, --interactive', 'connect standard input')
    .option('--graded', 'as it was graded: without protected paths')
    .option('--keep', 'do not end the sandbox afterwards')
    .argument('[command...]', 'after `--`; default: a shell')
    .action(open);
  verb('diff <trial>', 'paths that the agent changed').option('--json', 'a line of JSON per path').action(diff);
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
    ['verified', verification ? `${verification.mode}, ${verification.isolation}${endOf(verification.command)}` : '-'],
    ...(verification?.tampering ?? []).slice(0, 20).map((item) => ['tampering', JSON.stringify(item)]),
    ...suspectReasons.map((reason) => ['suspect', reason]),
    ...earlierTries.map((earlier) => ['earlier', `${earlier.outcome}: ${earlier.message.split('\n')[0]}`]),
    ...notes.map((text) => ['note', text]),
  ];
  if (reasonText(result)) rows.push(['reason', reasonText(result)]);
  print(table(['', ''], rows).split('\n').slice(1).join('\n'));
  const more = result.exception_info?.exception_message.split('\n').slice(1).join('\n');
  if (more) print(`  ${visibleLines(more, '  ')}`);
}

/** How the tests ended, where that is more than nothing: it does not count, but often says why there is no reward. */
function endOf(command: { outcome: string; exitCode: number | null } | null): string {
  if (command === null || command.exitCode === 0) return '';
  return `; tests ${command.exitCode === null ? command.outcome : `exited with ${command.exitCode}`}`;
}

type OpenFlags = Common & { graded?: boolean; keep?: boolean; interactive?: boolean };

async function open(word: string, argv: string[], flags: OpenFlags): Promise<void> {
  const { name, result } = findTrial(flags.jobsDir, word);
  const image = flags.graded ? result.vivarium.images.graded : result.vivarium.images.state;
  if (image === null)
    throw bad(`trial ${name} kept no state`, 'Refused trials and jobs with --no-keep-state have none.');
  await withServer(flags, async (viv) => {
    const lease = flags.keep ? undefined : await viv.lease(undefined, { graceS: 30 });
    try {
      const options = { image, labels: { 'viv.trial.open': name } };
      const sandbox = await (lease ? lease.create(options) : viv.sandboxes.create(options));
      const tty = argv.length === 0 && interactive.stdin && interactive.stdout;
      const command = argv.length === 0 ? LOGIN_SHELL : argv;
      const code = await foreground(sandbox, command, { tty, stdin: flags.interactive ?? argv.length === 0 });
      if (flags.keep) note(`viv: kept ${sandbox.id}`);
      throw new Exit(code);
    } finally {
      // Should this fail, the grace time does it.
      await lease?.end().catch(() => {});
    }
  });
}

function diff(word: string, flags: Common): void {
  const { name, job, result } = findTrial(flags.jobsDir, word);
  const { regradeOf } = job.config.vivarium;
  const dir = regradeOf === null ? job.trialPath(name) : join(regradeOf, name);
  // Each step's list is of all that differs from the image: the last one's is the trial's.
  const step = result.step_results?.at(-1)?.step_name;
  const changes = readChanges(step === undefined ? dir : join(dir, 'steps', step));
  if (changes === null)
    throw bad(`trial ${name} kept no list of changes`, 'Trials that ended before their agent did have none.');
  for (const change of changes) {
    if (flags.json) printLine(change);
    else print(`${{ added: 'A', changed: 'C', deleted: 'D' }[change.change]}  ${visible(change.path)}`);
  }
}

function logs(word: string, flags: Common): void {
  const { job, name } = findTrial(flags.jobsDir, word);
  const dir = job.trialPath(name);
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(txt|log|md)$/.test(path) && statSync(join(dir, path)).isFile())
    .sort();
  if (files.length === 0) throw bad(`trial ${name} has no logs`);
  for (const file of files) {
    note(`--- ${file}`);
    const content = readFileSync(join(dir, file));
    process.stdout.write(interactive.stdout ? visibleText(content.toString()) : content);
  }
}
