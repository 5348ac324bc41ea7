import { spawn } from 'node:child_process';

export type CommandEnd = { code: number; output: string; timedOut: boolean };

/** Kept of what a command prints: the end, where failures are summed up. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
const HELD_PIPE_MS = 2000;

/** Process groups that run now: a signal to the runner ends them. */
const running = new Set<number>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    for (const pid of running) killGroup(pid);
    process.exit(130);
  });
}

/** Runs a command in a process group of its own, without input, and kills the group after `limitMs`. Never rejects. */
export function runCommand(
  argv: string[],
  options: { cwd: string; env: NodeJS.ProcessEnv; limitMs: number },
): Promise<CommandEnd> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let timedOut = false;
    const child = spawn(argv[0]!, argv.slice(1), {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const pid = child.pid;
    if (pid !== undefined) running.add(pid);
    const timer = setTimeout(() => {
      timedOut = true;
      if (pid !== undefined) killGroup(pid);
    }, options.limitMs);
    const take = (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      while (bytes > OUTPUT_BYTES_MAX) bytes -= chunks.shift()!.length;
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const finish = (code: number) => {
      clearTimeout(timer);
      if (pid !== undefined) running.delete(pid);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ code, output: Buffer.concat(chunks).toString(), timedOut });
    };
    child.on('error', (error) => {
      take(Buffer.from(String(error)));
      finish(127);
    });
    child.on('close', (code) => finish(code ?? 1));
    // Something left behind may hold the pipes: then the end is the command's own.
    child.on('exit', (code) => setTimeout(() => finish(code ?? 1), HELD_PIPE_MS).unref());
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has just ended.
  }
}
