import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson } from '../console.ts';
import { withSandbox } from '../one.ts';
import { collectPair, formatBytes } from '../units.ts';

type Flags = ConnectionOptions & { label?: Record<string, string>; json?: boolean };

export function define(command: Command): void {
  command
    .argument('<sandbox>', 'id, beginning of an id, or name')
    .argument('<image>', 'NAME@VERSION to keep it as')
    .option('-l, --label <name=value>', 'label of the image (repeatable)', collectPair)
    .option('--json', 'print the image')
    .action((word: string, name: string, flags: Flags) =>
      withSandbox(word, flags, async (sandbox) => {
        const image = await sandbox.snapshot(name, flags.label ? { labels: flags.label } : {});
        if (flags.json) printJson(image);
        else print(`${image.name}  ${image.layers.length} layers  ${formatBytes(image.sizeBytes)}`);
      }),
    );
}
