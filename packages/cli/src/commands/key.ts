import { collect, e2bSecret, type Scope } from '@vivarium/sdk';
import { type Command, Option } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printJson, table } from '../console.ts';
import { withServer } from '../one.ts';
import { formatAge, parseCount } from '../units.ts';

type CreateFlags = ConnectionOptions & { scope?: Scope[]; maxSandboxes?: number; e2b?: boolean; json?: boolean };

export function define(command: Command): void {
  command
    .command('ls')
    .description('list API keys')
    .option('--json', 'one JSON array')
    .action((flags: ConnectionOptions & { json?: boolean }) =>
      withServer(flags, async (viv) => {
        const keys = await collect(viv.keys.list());
        if (flags.json) printJson(keys);
        else
          print(
            table(
              ['ID', 'NAME', 'SCOPES', 'MAX', 'AGE'],
              keys.map((key) => [
                key.id,
                key.name,
                key.scopes.join(','),
                String(key.maxSandboxes ?? ''),
                formatAge(key.createdAt),
              ]),
            ),
          );
      }),
    );
  command
    .command('create <name>')
    .description('make an API key; its secret is shown once')
    .addOption(
      new Option('--scope <scope...>', 'what it may do (default: sandboxes and images)').choices([
        'sandboxes',
        'images',
        'admin',
      ]),
    )
    .option('--max-sandboxes <n>', 'live sandboxes it may have', parseCount)
    .option('--e2b', 'print its secret in the form that E2B clients take (E2B_API_KEY)')
    .option('--json', 'print all about it')
    .action((name: string, flags: CreateFlags) =>
      withServer(flags, async (viv) => {
        const { scope: scopes, maxSandboxes } = flags;
        const made = await viv.keys.create({
          name,
          ...(scopes && { scopes }),
          ...(maxSandboxes !== undefined && { maxSandboxes }),
        });
        const key = flags.e2b && made.secret ? { ...made, secret: e2bSecret(made.secret) } : made;
        if (flags.json) return printJson(key);
        note(`key ${key.id} (${key.scopes.join(', ')}); the secret is shown only now:`);
        print(key.secret ?? '');
      }),
    );
  command
    .command('rm <id...>')
    .description('remove API keys')
    .action((ids: string[], flags: ConnectionOptions) =>
      withServer(flags, async (viv) => {
        for (const id of ids) {
          await viv.keys.remove(id);
          print(id);
        }
      }),
    );
}
