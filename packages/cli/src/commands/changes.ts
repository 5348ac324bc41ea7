import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { print, printLine, style, visible } from '../console.ts';
import { withSandbox } from '../one.ts';

const MARK = { added: style.green('A'), changed: style.yellow('M'), deleted: style.red('D') };

export function define(command: Command): void {
  command
    .argument('<sandbox>', 'id, beginning of an id, or name')
    .option('--json', 'a line of JSON per path')
    .action((word: string, flags: ConnectionOptions & { json?: boolean }) =>
      withSandbox(word, flags, async (sandbox) => {
        for await (const change of sandbox.changes()) {
          if (flags.json) printLine(change);
          else print(`${MARK[change.change]} ${visible(change.path)}${change.type === 'dir' ? '/' : ''}`);
        }
      }),
    );
}
