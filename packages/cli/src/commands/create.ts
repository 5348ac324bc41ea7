import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson } from '../console.ts';
import { addCreateOptions, type CreateFlags, createRequest } from '../create-options.ts';
import { creating } from '../creation.ts';
import { withServer } from '../one.ts';
import { collectEnv } from '../units.ts';

type Flags = ConnectionOptions &
  CreateFlags & { env?: Record<string, string>; workdir?: string; user?: string; json?: boolean };

export function define(command: Command): void {
  command.argument('<image>');
  addCreateOptions(command);
  command
    .option('-e, --env <name=value>', 'default environment of its commands (repeatable)', collectEnv)
    .option('-w, --workdir <dir>', 'where its commands start')
    .option('-u, --user <user>', 'who its commands run as')
    .option('--json', 'print all about it')
    .action((image: string, flags: Flags) =>
      withServer(flags, async (viv) => {
        const { env, workdir: cwd, user, idempotencyKey } = flags;
        const request = createRequest(image, flags, { env, cwd, user });
        const sandbox = await creating((control) => viv.sandboxes.create(request, control), idempotencyKey);
        if (flags.json) printJson(sandbox.info);
        else print(sandbox.id);
      }),
    );
}
