import { readFileSync, writeFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { describe, type FnOptions, type FnResult, type Vivarium } from '@vivarium/sdk';
import type { Command } from 'commander';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { note, printJson, writeAll } from '../console.ts';
import { withBaseShown } from '../creation.ts';
import { addFnLimits, type FnLimitFlags, fnLimits } from '../fn-limits.ts';
import { withServer } from '../one.ts';
import { collectEnv, parseSeconds } from '../units.ts';
import { Exit } from '../verb-program.ts';

type Flags = ConnectionOptions &
  FnLimitFlags & {
    language?: string;
    code?: string;
    interactive?: boolean;
    in?: string[];
    out?: string[];
    env?: Record<string, string>;
    workdir?: string;
    user?: string;
    timeout?: number;
    compileTimeout?: number;
    session?: string;
    sessionIdle?: number;
    json?: boolean;
  };
/** The program: code of a language, or argv. */
type Work = Pick<FnOptions, 'language' | 'code' | 'args' | 'argv'>;

export function defineRun(command: Command): void {
  const run = command
    .command('run <image> [words...]')
    .usage(
      '[options] IMAGE FILE|- [ARG…]\n       viv fn run [options] IMAGE -c CODE -l LANGUAGE [ARG…]\n       viv fn run [options] IMAGE -- PROGRAM [ARG…]',
    )
    .description('run a file of code, or a program, in a clean container')
    .option('-l, --language <name>', 'language of the code (default: by the name of the file)')
    .option('-c, --code <text>', 'the code itself')
    .option('-i, --interactive', 'pass standard input on')
    .option('--in <local[:inside]>', 'file to put there first (repeatable)', collect)
    .option('--out <inside[:local]>', 'file to bring back (repeatable)', collect)
    .option('-e, --env <name=value>', 'environment variable (repeatable; NAME alone: its value here)', collectEnv)
    .option('-w, --workdir <dir>', 'directory to start in (default /tmp/fn)')
    .option('-u, --user <user>', 'user or user:group inside')
    .option('--timeout <time>', 'of the program (default 30s)', parseSeconds)
    .option('--compile-timeout <time>', 'of the compiler (default 30s)', parseSeconds)
    .option('--session <name>', 'in a container that lives on for calls with the same name')
    .option('--session-idle <time>', 'ends this long after its last call (default 10m)', parseSeconds)
    .option('--json', 'print the result as one JSON document');
  addFnLimits(run);
  run.action((image: string, words: string[], flags: Flags) =>
    withServer(flags, async (viv) => {
      const request = { image, ...(await workOf(viv, image, words, flags)), ...optionsOf(flags) };
      const result = await withBaseShown(viv, () => viv.fn.run(request));
      if (flags.json) printJson(result);
      else await show(result);
      // After what it printed: a place that can't be written must not cost the result.
      saveFiles(result, flags);
      throw new Exit(result.exitCode);
    }),
  );
  run.addHelpText(
    'after',
    '\nThe exit code is the program’s; 125 when viv itself failed.\n\nExamples:\n  viv fn run base/debian@12 solve.py < input.txt -i\n  viv fn run base/debian@12 -l c - < main.c\n  viv fn run base/debian@12 -- python3 -c "print(1)"',
  );
}

async function workOf(viv: Vivarium, image: string, words: string[], flags: Flags): Promise<Work> {
  const { language, code } = flags;
  if (wordsAfterDashes() === words.length && words.length > 0 && code === undefined && language === undefined)
    return { argv: words };
  if (code !== undefined) {
    if (language === undefined) throw bad('which language is the code in?', 'Name it with --language.');
    return { language, code, args: words };
  }
  const [file, ...args] = words;
  if (file === undefined) throw bad('nothing to run', 'Name a file, `-`, --code, or a program after `--`.');
  if (file === '-' && flags.interactive) throw bad('standard input can’t be both the code and what it reads');
  if (file === '-' && language === undefined) throw bad('which language is the code in?', 'Name it with --language.');
  const text = file === '-' ? readFileSync(0, 'utf8') : readLocal(file).toString('utf8');
  return { language: language ?? (await languageOf(viv, image, file)), code: text, args };
}

/** As the image says, by the end of the name. */
async function languageOf(viv: Vivarium, image: string, file: string): Promise<string> {
  const ending = extname(file);
  const all = await withBaseShown(viv, () => viv.fn.languages(image));
  const named = all.filter((language) => ending !== '' && extname(language.file) === ending);
  const found = named.find(({ available }) => available) ?? named[0];
  if (found) return found.name;
  throw bad(`which language is ${file} in?`, 'Name it with --language; `viv fn languages IMAGE` lists them.');
}

function optionsOf(flags: Flags): Omit<FnOptions, 'image'> {
  const { env, user, workdir, session } = flags;
  const ms = (seconds: number) => Math.round(seconds * 1000);
  const files = (flags.in ?? []).map((text) => pair(text)).map(([local, inside]) => [inside, readLocal(local)]);
  return {
    ...fnLimits(flags),
    ...(files.length > 0 && { files: Object.fromEntries(files) }),
    ...(flags.out && { filesOut: flags.out.map((text) => pair(text)[0]) }),
    ...(flags.interactive && { stdin: readFileSync(0) }),
    ...(env && { env }),
    ...(user !== undefined && { user }),
    ...(workdir !== undefined && { cwd: workdir }),
    ...(session !== undefined && { session }),
    ...(flags.timeout !== undefined && { timeoutMs: ms(flags.timeout) }),
    ...(flags.compileTimeout !== undefined && { compileTimeoutMs: ms(flags.compileTimeout) }),
    ...(flags.sessionIdle !== undefined && { sessionIdleS: Math.ceil(flags.sessionIdle) }),
  };
}

/** Node's error of reading a directory does not name it. */
function readLocal(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw Object.assign(error as NodeJS.ErrnoException, { path });
  }
}

/** Files go where the caller said; what a program inside calls them decides nothing here. */
function saveFiles(result: FnResult, { out = [] }: Flags): void {
  for (const [inside, local] of out.map((text) => pair(text))) {
    const content = result.files.get(inside);
    if (content) writeFileSync(local, content);
    else
      note(
        `viv: ${inside} did not come (${result.filesLeft.find(({ path }) => path === inside)?.reason ?? 'it was not there'})`,
      );
  }
}

async function show(result: FnResult): Promise<void> {
  if (result.compile) {
    await writeAll(process.stderr, result.compile.stdoutBytes);
    await writeAll(process.stderr, result.compile.stderrBytes);
  }
  if (result.stage === 'run') {
    await writeAll(process.stdout, result.stdoutBytes);
    await writeAll(process.stderr, result.stderrBytes);
  }
  for (const name of ['stdout', 'stderr'] as const) {
    const { bytes, keptBytes } = result.exec[name];
    if (keptBytes < bytes) note(`viv: ${bytes - keptBytes} bytes of ${name} are left out`);
  }
  const { outcome, message } = result;
  if (outcome.type !== 'exited' && outcome.type !== 'signaled') note(`viv: the program ${describe(outcome)}`);
  else if (message) note(`viv: ${message}`);
}

/** Words that stood after `--`, which the parser leaves out. */
function wordsAfterDashes(argv: readonly string[] = process.argv): number {
  const mark = argv.indexOf('--');
  return mark < 0 ? 0 : argv.length - mark - 1;
}

/** `from:to`, or `from` alone for its last name. */
function pair(text: string): [string, string] {
  const mark = text.lastIndexOf(':');
  if (mark === 0 || mark === text.length - 1) throw bad(`write FROM:TO, not ${text}`);
  return mark < 0 ? [text, basename(text)] : [text.slice(0, mark), text.slice(mark + 1)];
}

function collect(text: string, all: string[] = []): string[] {
  return [...all, text];
}
