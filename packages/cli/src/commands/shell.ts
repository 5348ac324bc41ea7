import type { Command } from 'commander';
import { type CommandFlags, commandOptions } from '../command-options.ts';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { interactive } from '../console.ts';
import { foreground } from '../foreground.ts';
import { withSandbox } from '../one.ts';
import { LOGIN_SHELL } from '../shell.ts';
import { collectEnv } from '../units.ts';
import { Exit } from '../verb-program.ts';

export function define(command: Command): void {
  command
    .argument('<sandbox>', 'id, beginning of an id, or name')
    .option('-e, --env <name=value>', 'environment variable (repeatable)', collectEnv)
    .option('-w, --workdir <dir>', 'directory to start in')
    .option('-u, --user <user>', 'user or user:group inside')
    .action((word: string, flags: ConnectionOptions & CommandFlags) => {
      if (!interactive.stdin)
        throw bad('standard input is no terminal', 'Use `viv exec -i ID -- sh` for input from a pipe.');
      return withSandbox(word, flags, async (sandbox) => {
        throw new Exit(
          await foreground(sandbox, LOGIN_SHELL, {
            ...commandOptions(flags),
            tty: true,
            stdin: true,
            detachKeys: true,
          }),
        );
      });
    });
  command.addHelpText(
    'after',
    '\nCtrl-P Ctrl-Q lets go of the shell and leaves it running; `viv attach` comes back to it.',
  );
}
