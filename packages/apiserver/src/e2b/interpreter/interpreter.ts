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

/** Those of a node. */
export function interpretersOf(edge: Edge): Interpreters {
  let interpreters = nodes.get(edge);
  if (!interpreters) {
    interpreters = new Interpreters(edge);
    nodes.set(edge, interpreters);
  }
  return interpreters;
}
const nodes = new WeakMap<Edge, Interpreters>();

/**
 * Starts code interpreters: at the creation of a sandbox whose template has one, and where one is missing later, as in sandboxes made
 * from a snapshot or resumed without their memory. Callers for one sandbox share one start.
 */
class Interpreters {
  readonly #edge: Edge;
  readonly #starting = new Map<string, Promise<boolean>>();

  constructor(edge: Edge) {
    this.#edge = edge;
  }

  /** Resolves when its port is open: true, or false where the image has no interpreter. Throws what a command in the sandbox throws. */
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
    const label = 'code interpreter';
    const command = ExecStart.parse({ argv: ARGV, user: USER, label, keepBytes: 65_536, detach: true });
    await this.#edge.execs.run(sandbox, command);
    await this.#listens(sandbox);
    return true;
  }

  /** Throws `port_closed`. */
  async #listens(sandbox: string): Promise<void> {
    const deadline = performance.now() + LISTENS_WITHIN_MS;
    for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
      try {
        const connection = await this.#edge.ports.connect(sandbox, { port: INTERPRETER_PORT });
        connection.on('error', () => {});
        connection.destroy();
        return;
      } catch (error) {
        if (VivError.from(error).code !== 'port_closed' || performance.now() > deadline) throw error;
      }
      await sleep(pauseMs);
    }
  }
}
