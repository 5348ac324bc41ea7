import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { printJson } from '../console.ts';
import { withServer } from '../one.ts';
import { findSandboxes } from '../sandbox-name.ts';

export function define(command: Command): void {
  command
    .argument('<sandbox...>', 'ids, beginnings of ids, or names')
    .option('--json', 'accepted for symmetry: the answer always is JSON')
    .action((words: string[], flags: ConnectionOptions) =>
      withServer(flags, async (viv) => {
        const sandboxes = await findSandboxes(viv, words);
        const infos = await Promise.all(sandboxes.map(async (sandbox) => (await sandbox.refresh()).info));
        printJson(infos.length === 1 ? infos[0] : infos);
      }),
    );
}
