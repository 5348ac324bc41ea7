import { type SandboxState, VivError } from '@vivarium/sdk';
import { type Command, Option } from 'commander';
import type { ConnectionOptions } from '../connection.ts';
import { print, printJson } from '../console.ts';
import { withSandbox } from '../one.ts';
import { parseSeconds } from '../units.ts';

type Flags = ConnectionOptions & { state?: SandboxState[]; timeout?: number; json?: boolean };

export function define(command: Command): void {
  command
    .argument('<sandbox>', 'id, beginning of an id, or name')
    .addOption(
      new Option('--state <state...>', 'states to wait for (default: ended or failed)').choices([
        'running',
        'paused',
        'ended',
        'failed',
      ]),
    )
    .option('--timeout <time>', 'give up after this long (exit code 6)', parseSeconds)
    .option('--json', 'print all about it')
    .action((word: string, flags: Flags) =>
      withSandbox(word, flags, async (sandbox) => {
        const signal = flags.timeout === undefined ? undefined : AbortSignal.timeout(flags.timeout * 1000);
        try {
          await sandbox.wait(flags.state, signal ? { signal } : {});
        } catch (error) {
          if (!signal?.aborted) throw error;
          throw new VivError(
            'request_timeout',
            `sandbox ${sandbox.id} is still ${sandbox.state} after ${flags.timeout} s`,
          );
        }
        if (flags.json) printJson(sandbox.info);
        else print(sandbox.info.endReason ? `${sandbox.state} (${sandbox.info.endReason})` : sandbox.state);
      }),
    );
}
