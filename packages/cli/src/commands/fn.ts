import type { FnPool } from '@vivarium/sdk';
import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson, table } from '../console.ts';
import { withBaseShown } from '../creation.ts';
import { addFnLimits, type FnLimitFlags, fnLimits } from '../fn-limits.ts';
import { withServer } from '../one.ts';
import { formatAge, parseCount } from '../units.ts';
import { defineRun } from './fn-run.ts';

type Json = ConnectionOptions & { json?: boolean };
type WarmFlags = Json & FnLimitFlags & { count?: number };

export function define(command: Command): void {
  defineRun(command);
  const warm = command
    .command('warm <image>')
    .description('keep clean containers of an image ready')
    .option('-n, --count <n>', 'how many (default 1)', parseCount)
    .option('--json', 'print the pool as JSON');
  addFnLimits(warm);
  warm.action((image: string, flags: WarmFlags) =>
    withServer(flags, async (viv) => {
      const request = { image, ...fnLimits(flags), ...(flags.count !== undefined && { count: flags.count }) };
      const pool = await withBaseShown(viv, () => viv.fn.warm(request));
      flags.json ? printJson(pool) : print(`${pool.ready} ready`);
    }),
  );
  command
    .command('ls')
    .description('containers that are ready or at work, by image and limits')
    .option('--json', 'one JSON array')
    .action((flags: Json) =>
      withServer(flags, async (viv) => {
        const pools = await viv.fn.pools();
        flags.json ? printJson(pools) : print(poolTable(pools));
      }),
    );
  command
    .command('languages <image>')
    .description('what an image can run')
    .option('--json', 'one JSON array, also of those that it has not')
    .action((image: string, flags: Json) =>
      withServer(flags, async (viv) => {
        const languages = await withBaseShown(viv, () => viv.fn.languages(image));
        if (flags.json) return printJson(languages);
        const rows = languages
          .filter(({ available }) => available)
          .map(({ name, aliases, compile, run }) => [
            name,
            aliases.join(', '),
            [compile, run].flatMap((argv) => (argv ? [argv.join(' ')] : [])).join(' && '),
          ]);
        print(table(['LANGUAGE', 'ALSO', 'RUN AS'], rows));
      }),
    );
  defineSessions(command);
}

function defineSessions(command: Command): void {
  command
    .command('sessions')
    .description('containers that live on from call to call')
    .option('--json', 'one JSON array')
    .action((flags: Json) =>
      withServer(flags, async (viv) => {
        const sessions = await viv.fn.sessions();
        if (flags.json) return printJson(sessions);
        const rows = sessions.map(({ name, image, sandbox, running, lastUsedAt }) => [
          name,
          image,
          sandbox,
          running ? 'running' : '',
          formatAge(lastUsedAt),
        ]);
        print(table(['SESSION', 'IMAGE', 'SANDBOX', 'STATE', 'LAST USED'], rows));
      }),
    );
  command
    .command('end <session...>')
    .description('end sessions and their containers')
    .action((names: string[], flags: ConnectionOptions) =>
      withServer(flags, async (viv) => {
        for (const name of names) {
          await viv.fn.endSession(name);
          print(name);
        }
      }),
    );
}

function poolTable(pools: readonly FnPool[]): string {
  const rows = pools.map(({ image, limits, ready, busy, preparing, wanted, calls, coldCalls }) => [
    image,
    `${limits.memoryMiB} MiB, ${limits.cpus} CPUs`,
    ...[ready, busy, preparing, wanted, calls, coldCalls].map(String),
  ]);
  return table(['IMAGE', 'LIMITS', 'READY', 'BUSY', 'PREPARING', 'WANTED', 'CALLS', 'COLD'], rows);
}
