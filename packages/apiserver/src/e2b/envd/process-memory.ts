import type { ProcessConfig } from '@vivarium/protocol/e2b/process.ts';

/** Ended commands of which the rest that nobody has read is known. */
const REMEMBERED = 4096;
/** A longer request is told from the journal, which has a shorter form. */
const CONFIG_CHARS_MAX = 64 * 1024;

/** What the journal does not say of a command that was started over this surface. A restart of the server forgets it. */
export type Memory = {
  /** As it was asked for; the journal has no values of variables. */
  config: ProcessConfig | undefined;
  /** Up to where a client was sent its output, per channel. */
  sent: { 1: number; 2: number };
  stdinClosed: boolean;
  ended: boolean;
};

/** Memory by id of the command. */
export class ProcessMemory {
  readonly #live = new Map<string, Memory>();
  readonly #ended = new Map<string, Memory>();

  get(exec: string): Memory | undefined {
    return this.#live.get(exec) ?? this.#ended.get(exec);
  }

  /** The memory of a command that runs; made when there is none. */
  of(exec: string, config?: ProcessConfig): Memory {
    const known = this.get(exec);
    if (known) return known;
    const short = config && JSON.stringify(config).length <= CONFIG_CHARS_MAX ? config : undefined;
    const memory: Memory = { config: short, sent: { 1: 0, 2: 0 }, stdinClosed: false, ended: false };
    this.#live.set(exec, memory);
    return memory;
  }

  /** It has ended. `seen`: a client has all of it, so the next one begins anew. */
  end(exec: string, seen: boolean): void {
    const memory = this.get(exec);
    this.#live.delete(exec);
    this.#ended.delete(exec);
    if (!memory || seen) return;
    memory.ended = true;
    memory.config = undefined;
    if (this.#ended.size >= REMEMBERED) this.#ended.delete(this.#ended.keys().next().value!);
    this.#ended.set(exec, memory);
  }

  /** Forgets what no client has seen the end of, some time after that. `over`: settles when the command has ended. */
  endAfter(exec: string, over: Promise<unknown>): void {
    const end = () => this.end(exec, false);
    over.then(end, end);
  }
}

export const processMemory = new ProcessMemory();
