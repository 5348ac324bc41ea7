import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bad, complain } from './complaint.ts';

/** Where a clone has the node's own program. Started, never imported. */
const NODE_PROGRAM = '../../node/src/main.ts';

/** `up`, `down` and `doctor` act on this machine and are a program of their own; a client-only installation has none. */
export async function runNodeProgram(args: string[]): Promise<number> {
  const program = join(import.meta.dirname, NODE_PROGRAM);
  if (!existsSync(program)) {
    return complain(
      bad(
        `\`viv ${args[0]}\` is not part of this installation`,
        'Clone Vivarium on the machine that is to be a node.',
        'precondition_failed',
      ),
    );
  }
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program, ...args], {
    stdio: 'inherit',
  });
  // The terminal sends its signals to both; this one waits for the other's answer.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(complain(error)));
    child.on('close', (code) => resolve(code ?? 130));
  });
}
