import { JobBoard, type JobEvent } from '@vivarium/eval';
import { interactive, note } from './console.ts';

/** At most four times a second. */
const REDRAW_MS = 250;
/** Where nothing can be drawn over, images that take long are told of this often. */
const TELL_MS = 5_000;

/** A job as it runs, on stderr: on a terminal the last lines are drawn over, elsewhere a line per result and now and then one per image. */
export class JobScreen {
  readonly #board = new JobBoard(Date.now());
  readonly #quiet: boolean;
  readonly #live: boolean;
  readonly #timer: NodeJS.Timeout | undefined;
  #told: string[] = [];
  #drawn = 0;
  #dirty = true;

  constructor(quiet: boolean) {
    this.#quiet = quiet;
    this.#live = !quiet && interactive.stderr;
    if (quiet) return;
    this.#timer = this.#live ? setInterval(() => this.#draw(), REDRAW_MS) : setInterval(() => this.#tell(), TELL_MS);
    this.#timer.unref();
  }

  take(event: JobEvent): void {
    const line = this.#board.take(event, Date.now());
    this.#dirty = true;
    if (this.#quiet || line === null) return;
    if (!this.#live) return note(line);
    process.stderr.write(`${this.#erase()}${line}\n`);
    this.#drawn = 0;
  }

  /** A line that stays, also where nothing else is shown. */
  say(text: string): void {
    if (!this.#live) return note(text);
    // What the terminal echoed (`^C`) is on the line after the live part and goes with it.
    process.stderr.write(`${this.#erase()}\r\u001b[J${text}\n`);
    this.#drawn = 0;
  }

  /** Leaves the results, takes away the live part. */
  end(): void {
    clearInterval(this.#timer);
    if (this.#live) process.stderr.write(this.#erase());
    this.#drawn = 0;
  }

  #draw(): void {
    if (!this.#dirty && this.#drawn === 0) return;
    // A terminal that doesn't know its size says 0.
    const [columns, rows] = [process.stderr.columns || 80, process.stderr.rows || 24];
    const lines = this.#board.lines(Date.now(), columns, Math.min(rows - 1, 40));
    process.stderr.write(`${this.#erase()}${lines.join('\n')}\n`);
    this.#drawn = lines.length;
    this.#dirty = false;
  }

  #tell(): void {
    const lines = this.#board.images();
    for (const line of lines) if (!this.#told.includes(line)) note(line);
    this.#told = lines;
  }

  #erase(): string {
    return this.#drawn === 0 ? '' : `\u001b[${this.#drawn}A\r\u001b[J`;
  }
}
