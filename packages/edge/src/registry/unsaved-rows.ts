import type { Clock } from '@vivarium/core';
import type { SandboxRow } from './sandbox-row.ts';

/** How often the disk is tried again. */
const AGAIN_MS = 1000;

/**
 * Rows that the disk did not take (it is full), as they are to be: readers get them from here, and they are written as soon as that
 * works. Only for steps that must not be refused: an end frees what a full disk needs.
 */
export class UnsavedRows {
  readonly #rows = new Map<string, SandboxRow>();
  readonly #clock: Clock;
  readonly #write: (row: SandboxRow) => void;
  #waiting = false;
  #closed = false;

  constructor(clock: Clock, write: (row: SandboxRow) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  get(id: string): SandboxRow | undefined {
    return this.#rows.get(id);
  }

  add(row: SandboxRow): void {
    this.#rows.set(row.id, row);
    this.#later();
  }

  /** Something newer was written, or it is gone. */
  drop(id: string): void {
    this.#rows.delete(id);
  }

  close(): void {
    this.#closed = true;
  }

  #later(): void {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#clock.after(AGAIN_MS, () => {
      this.#waiting = false;
      if (!this.#closed) this.#flush();
    });
  }

  #flush(): void {
    try {
      for (const [id, row] of this.#rows) {
        this.#write(row);
        this.#rows.delete(id);
      }
    } catch {
      this.#later();
    }
  }
}
