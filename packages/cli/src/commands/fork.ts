import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson } from '../console.ts';
import { withSandbox } from '../one.ts';
import { collectPair, parseCount, parseSeconds } from '../units.ts';

type Pairs = Record<string, string>;
type Flags = ConnectionOptions & { count: number; label?: Pairs; metadata?: Pairs; ttl?: number; json?: boolean };

export function define(command: Command): void {
  command
    .argument('<sandbox>', 'id, beginning of an id, or name')
    .option('-n, --count <n>', 'how many', parseCount, 1)
    .option('-l, --label <name=value>', 'label of the copies (repeatable)', collectPair)
    .option('--metadata <name=value>', 'metadata of the copies, in place of the original’s (repeatable)', collectPair)
    .option('--ttl <time>', 'the copies end this long after their creation', parseSeconds)
    .option('--json', 'one JSON array')
    .action((word: string, flags: Flags) =>
      withSandbox(word, flags, async (sandbox) => {
        const { count, label, metadata, ttl } = flags;
        const copies = await sandbox.fork(count, {
          ...(label && { labels: label }),
          ...(metadata && { metadata }),
          ...(ttl !== undefined && { ttlS: Math.ceil(ttl) }),
        });
        if (flags.json) printJson(copies.map((copy) => copy.info));
        else for (const copy of copies) print(copy.id);
      }),
    );
}
