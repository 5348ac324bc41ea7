import type { Process } from '@vivarium/sdk';

/** Ctrl-P Ctrl-Q lets go of the command, as elsewhere. */
const DETACH = [0x10, 0x11] as const;

export function terminalSize(): { rows: number; cols: number } {
  return { rows: process.stdout.rows || 24, cols: process.stdout.columns || 80 };
}

/** This terminal, handed over: every key goes to the command, its size follows the window. Input that is no terminal stays here. */
export class RawTerminal {
  /** Resolves when the user typed the detach keys. */
  readonly detached: Promise<undefined>;
  readonly #child: Process;
  readonly #detachKeys: boolean;
  readonly #onData = (chunk: Buffer) => this.#type(chunk);
  readonly #onEnd = () => void this.#child.closeStdin().catch(() => {});
  readonly #onResize = () => this.#child.resize(terminalSize());
  #resolveDetached!: (value: undefined) => void;
  #held = false;
  #closed = false;

  constructor(child: Process, detachKeys: boolean) {
    this.#child = child;
    this.#detachKeys = detachKeys;
    this.detached = new Promise((resolve) => {
      this.#resolveDetached = resolve;
    });
    process.stdout.on('resize', this.#onResize);
    if (!process.stdin.isTTY) {
      this.#onEnd();
      return;
    }
    process.stdin.setRawMode(true);
    process.stdin.on('data', this.#onData).on('end', this.#onEnd).resume();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    process.stdin.off('data', this.#onData).off('end', this.#onEnd).pause();
    process.stdout.off('resize', this.#onResize);
  }

  #type(chunk: Buffer): void {
    const keys = this.#detachKeys ? this.#withoutDetach(chunk) : chunk;
    if (keys.length === 0) return;
    process.stdin.pause();
    this.#child
      .write(keys)
      .catch(() => {})
      .finally(() => this.#closed || process.stdin.resume());
  }

  /** Holds a Ctrl-P back until the next key says whether it was meant for us. */
  #withoutDetach(chunk: Buffer): Buffer {
    const out: number[] = [];
    for (const key of chunk) {
      if (this.#held && key === DETACH[1]) {
        this.#resolveDetached(undefined);
        return Buffer.alloc(0);
      }
      if (this.#held) out.push(DETACH[0]);
      this.#held = key === DETACH[0];
      if (!this.#held) out.push(key);
    }
    return Buffer.from(out);
  }
}
