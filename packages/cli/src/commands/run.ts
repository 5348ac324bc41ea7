import type { Sandbox, Vivarium } from '@vivarium/sdk';
import type { Command } from 'commander';
import { addCommandOptions, type CommandFlags, commandOptions, wantsTty } from '../command-options.ts';
import { bad } from '../complaint.ts';
import { type ConnectionOptions, connect } from '../connection.ts';
import { note, print, printJson } from '../console.ts';
import { addCreateOptions, type CreateFlags, createRequest } from '../create-options.ts';
import { creating } from '../creation.ts';
import { foreground } from '../foreground.ts';
import { LOGIN_SHELL } from '../shell.ts';
import { Exit } from '../verb-program.ts';

type Flags = ConnectionOptions & CreateFlags & CommandFlags & { keep?: boolean };

/** When viv itself is killed, what it created goes after this long. */
const GRACE_S = 30;

export function define(command: Command): void {
  command.argument('<image>').argument('[command...]', 'after `--`; default: a shell');
  addCommandOptions(command);
  addCreateOptions(command);
  command.option('--keep', 'do not end the sandbox afterwards').action(run);
  command.addHelpText(
    'after',
    '\nThe exit code is the command’s; 125 when viv itself failed.\n\nExample:\n  viv run base/debian@12 -- python3 -c "print(1)"',
  );
}

async function run(image: string, argv: string[], flags: Flags): Promise<void> {
  if (argv.length === 0 && !wantsTty(flags))
    throw bad('no command given', 'Put it after `--`: viv run IMAGE -- COMMAND');
  const viv = connect(flags);
  const keep = flags.keep ?? flags.detach ?? false;
  const sandbox = await create(viv, image, flags, keep);
  const end = async () => {
    if (!keep) await sandbox.kill();
  };
  try {
    const code = await execute(sandbox, argv, flags);
    if (flags.keep && !flags.json) note(`viv: kept ${sandbox.id}`);
    await end();
    throw new Exit(code);
  } catch (error) {
    if (!(error instanceof Exit)) await end().catch(() => {});
    throw error;
  } finally {
    viv.close();
  }
}

/** Owned by a lease of this process unless it is to be kept, so that nothing stays when this process dies. */
async function create(viv: Vivarium, image: string, flags: Flags, keep: boolean): Promise<Sandbox> {
  const { lease, idempotencyKey } = flags;
  const request = createRequest(image, flags);
  if (keep || lease !== undefined) return creating((control) => viv.sandboxes.create(request, control), idempotencyKey);
  const own = await viv.lease(undefined, { graceS: GRACE_S });
  return creating((control) => own.create(request, control), idempotencyKey);
}

async function execute(sandbox: Sandbox, argv: string[], flags: Flags): Promise<number> {
  const tty = wantsTty(flags);
  const command = argv.length === 0 ? LOGIN_SHELL : argv;
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
