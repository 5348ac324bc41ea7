import { ERROR_CODES, VivError } from '@vivarium/sdk/error.ts';
import { Command, CommanderError, type Option } from 'commander';
import { complain, usage } from './complaint.ts';
import type { Verb, VerbModule } from './verb.ts';

/** Thrown by an action to end with a code that is not an error of viv (the command's own). */
export class Exit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/** Parses one verb's arguments and runs it. Returns the exit code. */
export async function runVerb(verb: Verb, module: VerbModule, args: string[], all: readonly Verb[]): Promise<number> {
  const root = new Command('viv').exitOverride().helpCommand(false);
  const command = root.command(verb.name).description(verb.summary);
  command.configureOutput({ outputError: () => {} });
  module.define(command, all);
  for (const each of [command, ...command.commands]) {
    each.exitOverride().configureOutput({ outputError: () => {} });
    each.options.forEach(nameInErrors);
    if (each.commands.length === 0) addGlobals(each);
  }
  // In run and exec the codes below 125 belong to the command.
  const own = RUNS_COMMANDS.has(verb.name) || (verb.name === 'fn' && args[0] === 'run') ? 125 : undefined;
  try {
    await root.parseAsync([verb.name, ...args], { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (thrown) {
    if (thrown instanceof Exit) return thrown.code;
    // Commander has shown the help of a verb whose second word is missing, and has nothing to add.
    if (thrown instanceof CommanderError && thrown.code === 'commander.help') return own ?? USAGE;
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : usage(verb.name, thrown, own);
    return complain(thrown, own);
  }
}

const USAGE = ERROR_CODES.invalid_argument.exit;
const RUNS_COMMANDS = new Set(['run', 'exec', 'shell', 'attach']);

/** `--attempts: not a whole number: many`: which of the values it was. */
function nameInErrors(option: Option): void {
  const parse = option.parseArg?.bind(option);
  if (!parse) return;
  option.argParser((text: string, previous: unknown) => {
    try {
      return parse(text, previous);
    } catch (thrown) {
      if (!(thrown instanceof VivError)) throw thrown;
      const { code, message, hint } = thrown;
      throw new VivError(code, `${option.long ?? option.short}: ${message}`, { hint });
    }
  });
}

function addGlobals(command: Command): void {
  command.optionsGroup('Connection:').option('--url <url>', 'server to talk to').option('--api-key <key>', 'API key');
}
