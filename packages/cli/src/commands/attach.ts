import type { Command } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson, style, table } from '../console.ts';
import { pickExec } from '../exec-name.ts';
import { follow } from '../foreground.ts';
import { withSandbox } from '../one.ts';
import { formatAge } from '../units.ts';
import { Exit } from '../verb-program.ts';

type Flags = ConnectionOptions & { interactive?: boolean; json?: boolean; from?: number };

export function define(command: Command): void {
  command
    .argument('<sandbox>', 'id, beginning of an id, or name')
    .argument('[exec]', 'id of the command or its beginning; without: list them')
    .option('-i, --interactive', 'connect standard input (default for a terminal)')
    .option('--json', 'with no command: one JSON array')
    .action((word: string, execWord: string | undefined, flags: Flags) =>
      withSandbox(word, flags, async (sandbox) => {
        const execs = [];
        for await (const exec of sandbox.execs()) execs.push(exec);
        if (execWord === undefined) {
          if (flags.json) return printJson(execs);
          const rows = execs.map((exec) => [
            exec.id,
            exec.state === 'running' ? style.green(exec.state) : exec.state,
            exec.exitCode === null ? '' : String(exec.exitCode),
            formatAge(exec.startedAt),
            exec.argv.join(' ').slice(0, 100),
          ]);
          return print(table(['EXEC', 'STATE', 'CODE', 'AGE', 'COMMAND'], rows));
        }
        const exec = pickExec(execs, execWord);
        const tty = exec.pty && exec.state === 'running' && Boolean(process.stdin.isTTY);
        const stdin = tty || (flags.interactive ?? false);
        const child = await sandbox.attach(exec.id, { stdin });
        throw new Exit(await follow(child, { tty, stdin, detachKeys: true }));
      }),
    );
}
