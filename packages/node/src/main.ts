/** `viv up`, `viv down`, `viv doctor`: the commands that act on this machine. All others are the CLI's, over the API. */

import { VivError } from '@vivarium/protocol';
import { Command, CommanderError } from 'commander';
import { DEFAULT_LISTEN, DEFAULT_STATE_DIR } from './paths.ts';

const say = (line: string) => process.stderr.write(`${line}\n`);
const stateDir = [
  '--state-dir <dir>',
  'where the node keeps its state',
  process.env.VIV_STATE_DIR ?? DEFAULT_STATE_DIR,
] as const;

try {
  await program().parseAsync();
} catch (thrown) {
  process.exitCode = complain(thrown);
}

function program(): Command {
  const viv = new Command('viv')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'viv: ')) });
  viv
    .command('up')
    .showHelpAfterError('hint: `viv help up` lists the options.')
    .description('start the node on this machine')
    .option('--detach', 'return when it is up', false)
    .option(...stateDir)
    .option('--listen <addr:port>', 'address of the API', DEFAULT_LISTEN)
    .option('--domain <domain>', 'serve ports inside as PORT-ID.DOMAIN too (may end with :PORT)')
    .option('--tls-cert <file>', 'HTTPS with this certificate (PEM), beside HTTP')
    .option('--tls-key <file>', 'its private key (PEM)')
    .option('--tls-listen <addr:port>', 'an address for HTTPS alone (default: the same as for HTTP)')
    .action(async (options) => {
      const { up } = await import('./up.ts');
      process.exitCode = await up(options, say);
    });
  viv
    .command('down')
    .showHelpAfterError('hint: `viv help down` lists the options.')
    .description('end all sandboxes and stop the node')
    .option('--purge', 'delete its state too: images, logs, keys', false)
    .option(...stateDir)
    .action(async (options) => {
      const { down } = await import('./down.ts');
      await down(options, say);
    });
  viv
    .command('doctor')
    .showHelpAfterError('hint: `viv help doctor` lists the options.')
    .description('what this machine can do, why not, and the remedy')
    .option('--json', 'for programs', false)
    .action(async (options) => {
      const { doctor } = await import('./doctor.ts');
      process.exitCode = await doctor(options);
    });
  return viv;
}

/** Errors look as the CLI's do. Returns the exit code. */
function complain(thrown: unknown): number {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  const error = VivError.from(thrown);
  say(`viv: ${error.message}`);
  say(`hint: ${error.hint}`);
  if (error.code === 'internal' && error.cause instanceof Error && process.env.VIV_DEBUG)
    say(String(error.cause.stack));
  return error.exitCode;
}
