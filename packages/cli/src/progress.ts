import { interactive } from './console.ts';

const REDRAW_MS = 100;

/** One line on stderr that is drawn over; where stderr is no terminal, a line per new stage. */
export class ProgressLine {
  #drawn = 0;
  #last = '';
  #stage = '';
  readonly #quiet: boolean;

  constructor(quiet = false) {
    this.#quiet = quiet;
  }

  update(stage: string, text: string): void {
    if (this.#quiet) return;
    if (!interactive.stderr) {
      if (stage !== this.#stage) process.stderr.write(`${text}\n`);
      this.#stage = stage;
      return;
    }
    const now = Date.now();
    if (stage === this.#stage && now - this.#drawn < REDRAW_MS) return;
    this.#stage = stage;
    this.#drawn = now;
    this.#last = text.slice(0, (process.stderr.columns ?? 80) - 1);
    process.stderr.write(`\r\u001b[K${this.#last}`);
  }

  /** Removes the line; with `text` leaves that instead. */
  end(text?: string): void {
    if (this.#quiet) return;
    if (interactive.stderr && this.#last !== '') process.stderr.write('\r\u001b[K');
    this.#last = '';
    if (text !== undefined) process.stderr.write(`${text}\n`);
  }
}
