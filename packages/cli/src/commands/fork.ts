import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson } from '../console.ts';
import { withSandbox } from '../one.ts';
import { collectPair, parseCount } from '../units.ts';

type Flags = ConnectionOptions & { count: number; label?: Record<string, string>; json?: boolean };

export function define(command: Command): void {
  command
    .argument('<sandbox>', 'id, beginning of an id, or name')
    .option('-n, --count <n>', 'how many', parseCount, 1)
    .option('-l, --label <name=value>', 'label of the copies (repeatable)', collectPair)
    .option('--json', 'one JSON array')
    .action((word: string, flags: Flags) =>
      withSandbox(word, flags, async (sandbox) => {
        const copies = await sandbox.fork(flags.count, flags.label ? { labels: flags.label } : {});
        if (flags.json) printJson(copies.map((copy) => copy.info));
        else for (const copy of copies) print(copy.id);
      }),
    );
}
