import type { CommandOptions } from '@vivarium/sdk';
import type { Command } from 'commander';
import { bad } from './complaint.ts';
import { interactive } from './console.ts';
import { collectEnv, parseSeconds } from './units.ts';

export type CommandFlags = {
  interactive?: boolean;
  tty?: boolean;
  detach?: boolean;
  env?: Record<string, string>;
  workdir?: string;
  user?: string;
  timeout?: number;
  json?: boolean;
};

/** The options that `run` and `exec` share. */
export function addCommandOptions(command: Command): void {
  command
    .optionsGroup('Command:')
    .option('-i, --interactive', 'connect standard input')
    .option('-t, --tty', 'give it a terminal (default when this is one on both sides)')
    .option('-T, --no-tty', 'no terminal')
    .option('-d, --detach', 'leave it running and print its id')
    .option('-e, --env <name=value>', 'environment variable (repeatable; NAME alone: its value here)', collectEnv)
    .option('-w, --workdir <dir>', 'directory to start in')
    .option('-u, --user <user>', 'user or user:group inside')
    .option('--timeout <time>', 'ends it and all it started after this long (exit code 124)', parseSeconds)
    .option('--json', 'print the result with its output as one JSON document')
    .optionsGroup('Options:');
}

export function commandOptions(flags: CommandFlags): CommandOptions {
  return {
    ...(flags.env && { env: flags.env }),
    ...(flags.workdir !== undefined && { cwd: flags.workdir }),
    ...(flags.user !== undefined && { user: flags.user }),
    ...(flags.timeout !== undefined && { timeoutMs: Math.round(flags.timeout * 1000) }),
  };
}

/** A terminal inside: as asked, else when a person sits on both ends here. */
export function wantsTty(flags: CommandFlags, here = interactive): boolean {
  if (flags.json || flags.detach) return false;
  // The end of a pipe would have to be typed as Ctrl-D, which a shell that is just starting takes for something else.
  if (flags.tty && flags.interactive && !here.stdin)
    throw bad('standard input is no terminal', 'Leave out -t to pass it on as it is, or -i to pass nothing on.');
  return flags.tty ?? (here.stdin && here.stdout);
}
