/** The `viv` command. This file only finds the verb; all else is loaded when it is needed. */
import module, { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { VERBS } from './verbs.ts';

process.exitCode = await main(process.argv.slice(2));

async function main(argv: string[]): Promise<number> {
  guardOutput();
  // In the user's own directory: the default is beneath /tmp, where others could put code.
  module.enableCompileCache?.(join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'vivarium', 'compile'));
  const { globals, rest } = splitGlobals(argv);
  const [word, ...args] = rest;
  if (word === undefined || word === '--help' || word === '-h' || (word === 'help' && args.length === 0))
    return overview(word !== undefined);
  if (word === '--version' || word === '-V' || word === 'version') return version();
  if (word === 'help') return run(args[0]!, [...args.slice(1), '--help'], globals);
  return run(word, args, globals);
}

async function run(word: string, args: string[], globals: string[]): Promise<number> {
  const verb = VERBS.find(({ name }) => name === word);
  if (!verb) {
    const { unknownVerb } = await import('./complaint.ts');
    return unknownVerb(
      word,
      VERBS.map(({ name }) => name),
    );
  }
  if (!verb.load) return (await import('./node-program.ts')).runNodeProgram([word, ...args]);
  const [{ runVerb }, module] = await Promise.all([import('./verb-program.ts'), verb.load()]);
  return runVerb(
    verb,
    module,
    [...args.slice(0, optionsEnd(args)), ...globals, ...args.slice(optionsEnd(args))],
    VERBS,
  );
}

/** Options that may stand before the verb are moved behind it. */
function splitGlobals(argv: string[]): { globals: string[]; rest: string[] } {
  let at = 0;
  while (at < argv.length && /^--(url|api-key)(=|$)/.test(argv[at]!)) at += argv[at]!.includes('=') ? 1 : 2;
  return { globals: argv.slice(0, at), rest: argv.slice(at) };
}

function optionsEnd(args: string[]): number {
  const mark = args.indexOf('--');
  return mark === -1 ? args.length : mark;
}

function overview(asked: boolean): number {
  const lines = ['Usage: viv VERB [options]', '', 'Sandboxes for agents. `viv help VERB` explains one.'];
  for (const group of new Set(VERBS.map((verb) => verb.group))) {
    lines.push('', `${group}:`);
    for (const { name, summary } of VERBS.filter((verb) => verb.group === group))
      lines.push(`  ${name.padEnd(14)}${summary}`);
  }
  lines.push(
    '',
    'Before or after every verb: --url URL, --api-key KEY.',
    'Else: environment VIV_URL and VIV_API_KEY, then `viv login`, then the node on this machine.',
  );
  (asked ? process.stdout : process.stderr).write(`${lines.join('\n')}\n`);
  return asked ? 0 : 2;
}

function version(): number {
  const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
  process.stdout.write(`viv ${version}\n`);
  return 0;
}

/** `viv ls | head -1`: the reader has gone, so there is nobody left to tell. */
function guardOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 7));
  }
}
