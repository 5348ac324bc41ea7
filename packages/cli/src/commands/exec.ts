import type { Command } from 'commander';
import { addCommandOptions, type CommandFlags, commandOptions, wantsTty } from '../command-options.ts';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson } from '../console.ts';
import { foreground } from '../foreground.ts';
import { withSandbox } from '../one.ts';
import { Exit } from '../verb-program.ts';

type Flags = ConnectionOptions & CommandFlags & { shell?: boolean };

export function define(command: Command): void {
  command.argument('<sandbox>', 'id, beginning of an id, or name').argument('<command...>', 'after `--`');
  addCommandOptions(command);
  command.option('-c, --shell', 'the command is one line for /bin/sh').action(exec);
  command.addHelpText(
    'after',
    '\nThe exit code is the command’s; 125 when viv itself failed.\n\nExample:\n  viv exec web -- ls -l /srv',
  );
}

async function exec(word: string, argv: string[], flags: Flags): Promise<void> {
  return withSandbox(word, flags, async (sandbox) => {
    const command = flags.shell ? argv.join(' ') : argv;
    const options = commandOptions(flags);
    if (flags.detach) {
      const started = await sandbox.start(command, options);
      if (flags.json) printJson(started);
      else print(started.id);
      return;
    }
    if (flags.json) {
      const result = await sandbox.exec(command, { ...options, ...(flags.interactive && { stdin: process.stdin }) });
      printJson(result);
      throw new Exit(result.exitCode);
    }
    const streams = { tty: wantsTty(flags), stdin: flags.interactive ?? false, detachKeys: true };
    throw new Exit(await foreground(sandbox, command, { ...options, ...streams }));
  });
}
