import { type Command, type CommandOptions, describe, type Process, type Sandbox } from '@vivarium/sdk';
import { note, writeAll } from './console.ts';
import { RawTerminal, terminalSize } from './raw-terminal.ts';

export type ForegroundOptions = CommandOptions & { tty: boolean; stdin: boolean; detachKeys?: boolean };

/** Runs a command as if it ran here: its streams are ours, so are its signals and its exit code. */
export async function foreground(sandbox: Sandbox, command: Command, options: ForegroundOptions): Promise<number> {
  const { tty, stdin, detachKeys, ...rest } = options;
  const env = tty ? { TERM: process.env.TERM ?? 'xterm-256color', ...rest.env } : rest.env;
  const child = await sandbox.spawn(command, {
    ...rest,
    ...(env && { env }),
    stdin: stdin || tty,
    ...(tty && { pty: terminalSize() }),
  });
  return follow(child, { tty, stdin: stdin || tty, detachKeys: detachKeys ?? false });
}

/** Connects this process's streams to a running command until it ends. Returns its exit code, or 0 when the user let go of it. */
export async function follow(
  child: Process,
  { tty, stdin, detachKeys }: { tty: boolean; stdin: boolean; detachKeys: boolean },
): Promise<number> {
  child.onGap(({ stream, from, to }) =>
    note(`viv: ${to - from} bytes of ${stream} are no longer kept and are left out`),
  );
  const stopSignals = forwardSignals(child);
  const terminal = tty ? new RawTerminal(child, detachKeys) : undefined;
  if (!terminal && stdin) void feed(child);
  try {
    const ended = Promise.all([copy(child.stdout, process.stdout), copy(child.stderr, process.stderr), child.wait()]);
    const exec = await Promise.race([
      ended.then(([, , last]) => last),
      terminal?.detached ?? new Promise<never>(() => {}),
    ]);
    if (!exec) {
      terminal?.close();
      child.detach();
      note(`\nviv: let go of ${child.id}; it runs on: viv attach ${child.sandboxId} ${child.id}`);
      return 0;
    }
    terminal?.close();
    const { outcome, message } = exec;
    if (outcome && outcome.type !== 'exited' && outcome.type !== 'signaled')
      note(`viv: the command ${describe(outcome)}`);
    else if (message) note(`viv: ${message}`);
    return exec.exitCode ?? 125;
  } finally {
    terminal?.close();
    stopSignals();
    process.stdin.destroy();
  }
}

async function copy(from: AsyncIterable<Uint8Array>, to: NodeJS.WriteStream): Promise<void> {
  for await (const chunk of from) await writeAll(to, chunk);
}

async function feed(child: Process): Promise<void> {
  try {
    await child.write(process.stdin);
    await child.closeStdin();
  } catch {
    // The command has ended or closed its input: nobody reads on.
  }
}

/** The first Ctrl-C goes to the command's group, the second ends it. */
function forwardSignals(child: Process): () => void {
  let interrupts = 0;
  const forward = (signal: NodeJS.Signals) => {
    if (signal !== 'SIGHUP' && ++interrupts > 1) void child.kill().catch(() => {});
    else void child.signal(signal.replace('SIG', ''), 'group').catch(() => {});
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.on(signal, forward);
  return () => {
    for (const signal of signals) process.off(signal, forward);
  };
}
