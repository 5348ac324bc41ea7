import { setTimeout as sleep } from 'node:timers/promises';
import type { Edge } from '@vivarium/edge/edge.ts';
import { ExecStart, VivError } from '@vivarium/protocol';

/** Where E2B's clients look for the code interpreter of a sandbox. */
export const INTERPRETER_PORT = 49_999;

const LAUNCHER = '/opt/interpreter/launcher.py';
/** Listens at once; what is heavy starts with the first client (interpreter/launcher.py). */
const ARGV = ['/usr/bin/python3', '-I', '-S', LAUNCHER];
const USER = 'user';
const LISTENS_WITHIN_MS = 15_000;
const PAUSE_MAX_MS = 40;

/** Starts the code interpreter of a sandbox whose image has one and returns when its port is open. Throws `port_closed`. */
export async function startInterpreter(edge: Edge, sandbox: string): Promise<void> {
  const label = 'code interpreter';
  await edge.execs.run(sandbox, ExecStart.parse({ argv: ARGV, user: USER, label, keepBytes: 65_536, detach: true }));
  const deadline = performance.now() + LISTENS_WITHIN_MS;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
    try {
      const connection = await edge.ports.connect(sandbox, { port: INTERPRETER_PORT });
      connection.on('error', () => {});
      connection.destroy();
      return;
    } catch (error) {
      if (VivError.from(error).code !== 'port_closed' || performance.now() > deadline) throw error;
    }
    await sleep(pauseMs);
  }
}

/** Starts code interpreters that do not run although they could: in sandboxes made from a snapshot, or resumed without their memory. */
export class InterpreterStarter {
  readonly #edge: Edge;
  readonly #starting = new Map<string, Promise<boolean>>();

  constructor(edge: Edge) {
    this.#edge = edge;
  }

  /** Whether the interpreter of the sandbox runs now; false where its image has none. Callers at one time share one start. */
  start(sandbox: string): Promise<boolean> {
    const running = this.#starting.get(sandbox);
    if (running) return running;
    const start = this.#start(sandbox).finally(() => this.#starting.delete(sandbox));
    this.#starting.set(sandbox, start);
    return start;
  }

  async #start(sandbox: string): Promise<boolean> {
    try {
      await this.#edge.files.stat(sandbox, Buffer.from(LAUNCHER), { follow: true });
    } catch {
      return false;
    }
    await startInterpreter(this.#edge, sandbox);
    return true;
  }
}
