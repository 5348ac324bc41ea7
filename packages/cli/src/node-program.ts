import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bad, complain } from './complaint.ts';

/** `up`, `down` and `doctor` act on this machine and are a program of their own; a client-only installation has none. */
export async function runNodeProgram(args: string[]): Promise<number> {
  const program = fileURLToPath(new URL('../../node/src/main.ts', import.meta.url));
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
