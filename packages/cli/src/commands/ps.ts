import type { ProcessInfo } from '@vivarium/sdk';
import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson, table } from '../console.ts';
import { withSandbox } from '../one.ts';
import { formatBytes, formatSeconds } from '../units.ts';

export function define(command: Command): void {
  command
    .argument('<sandbox>', 'id, beginning of an id, or name')
    .option('--json', 'one JSON array')
    .action((word: string, flags: ConnectionOptions & { json?: boolean }) =>
      withSandbox(word, flags, async (sandbox) => {
        const processes = await sandbox.processes();
        if (flags.json) printJson(processes);
        else print(processTable(processes));
      }),
    );
}

export function processTable(processes: readonly ProcessInfo[]): string {
  const rows = processes.map((process) => [
    String(process.pid),
    String(process.ppid),
    String(process.uid),
    process.state,
    formatBytes(process.rssKiB * 1024),
    formatSeconds((process.userMs + process.systemMs) / 1000),
    process.argv.length > 0 ? process.argv.join(' ') : `[${process.comm}]`,
  ]);
  return table(['PID', 'PPID', 'UID', 'STATE', 'RSS', 'CPU', 'COMMAND'], rows);
}
