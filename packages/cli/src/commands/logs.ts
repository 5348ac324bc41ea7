import { verified } from '@vivarium/sdk';
import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printLine } from '../console.ts';
import { journalLine } from '../journal-line.ts';
import { untilInterrupted, withSandbox } from '../one.ts';
import { parseCount } from '../units.ts';

type Flags = ConnectionOptions & { follow?: boolean; verify?: boolean; after?: number; json?: boolean };

export function define(command: Command): void {
  command
    .argument('<sandbox>', 'id, beginning of an id, or name')
    .option('-f, --follow', 'wait for more until the sandbox ends')
    .option('--verify', 'check that no record was changed or left out')
    .option('--after <seq>', 'only records after this number', parseCount)
    .option('--json', 'a line of JSON per record')
    .action((word: string, flags: Flags) =>
      withSandbox(word, flags, async (sandbox) => {
        // A chain can only be checked from its start.
        const from = flags.verify ? -1 : (flags.after ?? -1);
        const follow = flags.follow ? { follow: true, signal: untilInterrupted() } : {};
        const records = sandbox.logs({ after: from, ...follow });
        let count = 0;
        for await (const record of flags.verify ? verified(records) : records) {
          count++;
          if (record.seq <= (flags.after ?? -1)) continue;
          if (flags.json) printLine(record);
          else print(journalLine(record));
        }
        if (flags.verify) note(`viv: ${count} records, the chain is whole`);
      }),
    );
}
