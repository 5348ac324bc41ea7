import { closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const MAX_BYTES_DEFAULT = 16 * 1024 * 1024;
const KEPT_DEFAULT = 3;

/**
 * A log file bounded by size: at `maxBytes` it becomes NAME.1, NAME.1 becomes NAME.2 …, the oldest of `kept` goes. A
 * destination for pino. A write that fails (disk full) is counted and skipped: a log must not stop the node.
 */
export class LogFile {
  readonly path: string;
  readonly #maxBytes: number;
  readonly #kept: number;
  #fd: number;
  #bytes: number;
  lost = 0;

  constructor(directory: string, name: string, options: { maxBytes?: number; kept?: number } = {}) {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    this.path = join(directory, name);
    this.#maxBytes = options.maxBytes ?? MAX_BYTES_DEFAULT;
    this.#kept = options.kept ?? KEPT_DEFAULT;
    this.#fd = openSync(this.path, 'a', 0o600);
    this.#bytes = fstatSync(this.#fd).size;
  }

  /** Appends one line (with its newline). */
  write(line: string): void {
    try {
      if (this.#bytes > 0 && this.#bytes + line.length > this.#maxBytes) this.#rotate();
      this.#bytes += writeSync(this.#fd, line);
    } catch {
      this.lost += 1;
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  #rotate(): void {
    closeSync(this.#fd);
    for (let n = this.#kept - 1; n >= 1; n -= 1) {
      try {
        renameSync(n === 1 ? this.path : `${this.path}.${n - 1}`, `${this.path}.${n}`);
      } catch {
        // There are not that many yet.
      }
    }
    this.#fd = openSync(this.path, 'w', 0o600);
    this.#bytes = 0;
  }
}
