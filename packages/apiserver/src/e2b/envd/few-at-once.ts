/** Runs tasks in the order they came, so many at a time. */
export class FewAtOnce {
  readonly #max: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  #idle: (() => void) | undefined;

  constructor(max: number) {
    this.#max = max;
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#running < this.#max) this.#running += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      this.#next();
    }
  }

  /** Resolves when none waits for its turn; one caller at a time. */
  async noneWaits(): Promise<void> {
    if (this.#waiting.length > 0)
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running -= 1;
    if (this.#waiting.length > 0) return;
    this.#idle?.();
    this.#idle = undefined;
  }
}
