import { resolve } from 'node:path';
import {
  type Finding,
  type TaskReport,
  type ValidationReport,
  type ValidationRun,
  validateTasks,
} from '@vivarium/eval';
import { localConnection } from '@vivarium/sdk/node/local-connection.ts';
import { type Command, Option } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printJson, style, visible, visibleLines } from '../console.ts';
import { untilInterrupted, withServer } from '../one.ts';
import { collectPair, parseCount } from '../units.ts';
import { Exit } from '../verb-program.ts';

type Flags = ConnectionOptions & {
  task?: string[];
  includeTask?: string[];
  excludeTask?: string[];
  attempts: number;
  concurrent: number;
  static?: boolean;
  buildNetwork?: 'none' | 'node';
  map?: Record<string, string>;
  jobsDir?: string;
  quiet?: boolean;
  json?: boolean;
};

/** Some task is not fit to be used. */
const UNFIT = 1;

const several = (text: string, all: string[] = []) => [...all, text];

export function define(command: Command): void {
  command
    .command('validate <dir>')
    .description('check a task, or all tasks of a directory')
    .option('-t, --task <name>', 'this task only (repeatable)', several)
    .option('-i, --include-task <pattern>', 'tasks whose name fits (repeatable)', several)
    .option('-x, --exclude-task <pattern>', 'not those whose name fits (repeatable)', several)
    .option('-k, --attempts <n>', 'how often the oracle runs', parseCount, 3)
    .option('-n, --concurrent <n>', 'runs at once', parseCount, 4)
    .option('--static', 'read files only; needs no server')
    .addOption(new Option('--build-network <network>', 'of Dockerfile steps').choices(['none', 'node']))
    .option('--map <ref=image>', 'an image that stands for a FROM name (repeatable)', collectPair)
    .option('-o, --jobs-dir <dir>', 'keep the jobs of oracle and nop here (`viv trial show`)')
    .option('-q, --quiet', 'no progress')
    .option('--json', 'the report as one JSON document')
    .addHelpText(
      'after',
      '\nBuilds each image, looks for the answer in it, runs the oracle several times and nop once, watches what the\n' +
        'verifier installs. Exit code: 0 when no task has an error, 1 when one has.',
    )
    .action(validate);
}

async function validate(path: string, flags: Flags): Promise<void> {
  const options = {
    path,
    filter: { names: flags.task, include: flags.includeTask, exclude: flags.excludeTask },
    staticOnly: flags.static ?? false,
    attempts: flags.attempts,
    concurrent: flags.concurrent,
    map: flags.map ?? {},
    buildNetwork: flags.buildNetwork ?? null,
    signal: untilInterrupted(),
    onProgress: flags.quiet ? () => {} : (line: string) => note(style.dim(visible(line))),
    ...(flags.jobsDir !== undefined && { jobsDir: resolve(flags.jobsDir) }),
  };
  const { url, apiKey } = localConnection(flags);
  const report = options.staticOnly
    ? await validateTasks(options)
    : await withServer(flags, async (viv) => {
        await viv.node(); // A server that is not there is said once, before anything is done.
        return validateTasks(options, { viv, connection: { url, apiKey } });
      });
  if (flags.json) printJson(report);
  else show(report);
  if (!report.ok) throw new Exit(UNFIT);
}

function show(report: ValidationReport): void {
  for (const { folder, message, hint } of report.broken) {
    print(`${style.red('✗')} ${visible(folder)}`);
    print(`    ${visible(message)}\n    ${style.dim(visible(hint))}`);
  }
  for (const task of report.tasks) {
    print(`${task.ok ? style.green('✓') : style.red('✗')} ${visible(task.id)}${style.dim(runsLine(task))}`);
    for (const finding of task.findings) print(`    ${findingLine(finding)}`);
  }
  const unfit = report.broken.length + report.tasks.filter(({ ok }) => !ok).length;
  const total = report.broken.length + report.tasks.length;
  print(unfit === 0 ? `${total} of ${total} tasks are sound` : `${unfit} of ${total} tasks are not fit to be used`);
}

/** `  oracle 1 1 1 · nop 0 · tests 0.4 s`. */
function runsLine({ runs }: TaskReport): string {
  if (runs.length === 0) return '';
  const of = (agent: ValidationRun['agent']) => {
    const scores = runs.filter((run) => run.agent === agent).map(scoreText);
    return scores.length === 0 ? [] : [`${agent} ${scores.join(' ')}`];
  };
  const longest = Math.max(...runs.map(({ testMs }) => testMs));
  const tests = longest > 0 ? [`tests ${(longest / 1000).toFixed(1)} s`] : [];
  return `  ${[...of('oracle'), ...of('nop'), ...tests].join(' · ')}`;
}

function scoreText({ rewards, outcome }: ValidationRun): string {
  if (rewards === null) return outcome;
  const { reward } = rewards;
  return reward === undefined ? JSON.stringify(rewards) : String(reward);
}

const PAINT = { error: style.red, warning: style.yellow, note: style.dim };

function findingLine({ severity, message, file, line }: Finding): string {
  const where = file === undefined ? '' : `${file}${line === undefined ? '' : `:${line}`}: `;
  return `${PAINT[severity](severity)}  ${visibleLines(where + message, '           ')}`;
}
