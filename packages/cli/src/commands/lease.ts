import { collect } from '@vivarium/sdk';
import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson, table } from '../console.ts';
import { withServer } from '../one.ts';
import { formatAge, formatSeconds } from '../units.ts';

export function define(command: Command): void {
  command
    .command('ls')
    .description('list leases')
    .option('--json', 'one JSON array')
    .action((flags: ConnectionOptions & { json?: boolean }) =>
      withServer(flags, async (viv) => {
        const leases = await collect(viv.leases.list());
        if (flags.json) return printJson(leases);
        const rows = leases.map((lease) => [
          lease.id,
          lease.label ?? '',
          lease.state,
          String(lease.sandboxes),
          formatSeconds(lease.graceS),
          lease.onExpire,
          formatAge(lease.createdAt),
        ]);
        print(table(['ID', 'LABEL', 'STATE', 'SANDBOXES', 'GRACE', 'THEN', 'AGE'], rows));
      }),
    );
  command
    .command('end <id...>')
    .description('end leases and their sandboxes')
    .action((ids: string[], flags: ConnectionOptions) =>
      withServer(flags, async (viv) => {
        for (const id of ids) {
          await viv.leases.end(id);
          print(id);
        }
      }),
    );
}
