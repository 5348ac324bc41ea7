import type { CreateOptions, Sandbox, Vivarium } from '@vivarium/sdk';
import type { Command } from 'commander';
import { addCommandOptions, type CommandFlags, commandOptions, wantsTty } from '../command-options.ts';
import { bad } from '../complaint.ts';
import type { ConnectionOptions } from '../connection.ts';
import { note, print, printJson } from '../console.ts';
import { addCreateOptions, type CreateFlags, createRequest } from '../create-options.ts';
import { creating } from '../creation.ts';
import { foreground } from '../foreground.ts';
import { withServer } from '../one.ts';
import { LOGIN_SHELL } from '../shell.ts';
import { Exit } from '../verb-program.ts';

type Flags = ConnectionOptions & CreateFlags & CommandFlags & { keep?: boolean };

/** When viv itself is killed, what it created goes after this long. */
const GRACE_S = 30;

export function define(command: Command): void {
  command.argument('<image>').argument('[command...]', 'after `--`; default: what the image starts, else a shell');
  addCommandOptions(command);
  addCreateOptions(command);
  command.option('--keep', 'do not end the sandbox afterwards').action(run);
  command.addHelpText(
    'after',
    '\nThe exit code is the command’s; 125 when viv itself failed.\n\nExample:\n  viv run base/debian@12 -- python3 -c "print(1)"',
  );
}

async function run(image: string, argv: string[], flags: Flags): Promise<void> {
  return withServer(flags, async (viv) => {
    const request = createRequest(image, flags);
    if (flags.keep || flags.detach || flags.lease !== undefined) {
      const sandbox = await creating((control) => viv.sandboxes.create(request, control), flags.idempotencyKey);
      const code = await execute(sandbox, await commandOf(viv, sandbox, argv, flags), flags);
      if (flags.keep && !flags.json) note(`viv: kept ${sandbox.id}`);
      throw new Exit(code);
    }
    throw new Exit(await runOwned(viv, request, argv, flags));
  });
}

/** The sandbox belongs to a lease of this process, so that nothing stays when this process dies. */
async function runOwned(viv: Vivarium, request: CreateOptions, argv: string[], flags: Flags): Promise<number> {
  const lease = await viv.lease(undefined, { graceS: GRACE_S });
  try {
    const sandbox = await creating((control) => lease.create(request, control), flags.idempotencyKey);
    const code = await execute(sandbox, await commandOf(viv, sandbox, argv, flags), flags);
    await sandbox.kill();
    return code;
  } finally {
    // Should this fail, the grace time does it.
    await lease.end().catch(() => {});
  }
}

/** A command is run as it is given. Without one it is the image's entrypoint and cmd; where it has none, a shell at a terminal. */
async function commandOf(viv: Vivarium, sandbox: Sandbox, argv: string[], flags: Flags): Promise<readonly string[]> {
  if (argv.length > 0) return argv;
  const { image } = sandbox.info;
  const { entrypoint = [], cmd = [] } = (await viv.images.get(image)).config;
  if (entrypoint.length + cmd.length > 0) return [...entrypoint, ...cmd];
  if (wantsTty(flags)) return LOGIN_SHELL;
  throw bad(`no command given, and ${image} starts none`, 'Put it after `--`: viv run IMAGE -- COMMAND');
}

async function execute(sandbox: Sandbox, command: readonly string[], flags: Flags): Promise<number> {
  const tty = wantsTty(flags);
  const options = commandOptions(flags);
  if (flags.detach) {
    const exec = await sandbox.start(command, options);
    if (flags.json) printJson({ sandbox: sandbox.info, exec });
    else print(`${sandbox.id} ${exec.id}`);
    return 0;
  }
  if (flags.json) {
    const result = await sandbox.exec(command, { ...options, ...(flags.interactive && { stdin: process.stdin }) });
    printJson(result);
    return result.exitCode;
  }
  return foreground(sandbox, command, { ...options, tty, stdin: flags.interactive ?? false });
}
