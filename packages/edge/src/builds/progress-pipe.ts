/** Items on their way from work to whoever reads its progress. A reader that is slow makes the writer wait. */
export class ProgressPipe<T> {
  readonly #waiting: T[] = [];
  readonly #room: (() => void)[] = [];
  #wake: () => void = () => {};
  /** Nobody reads any more. */
  #left = false;

  /** Never waits: for what must not hold up the work, and is little. */
  put(item: T): void {
    if (this.#left) return;
    this.#waiting.push(item);
    this.#wake();
  }

  /** Resolves when there is room for more. */
  async push(item: T): Promise<void> {
    this.put(item);
    if (this.#waiting.length >= WAITING_MAX && !this.#left)
      await new Promise<void>((resolve) => this.#room.push(resolve));
  }

  /**
   * Runs the work and yields what it puts in, then what it returns. Its error is thrown. Leaving the loop aborts the work and waits for it to
   * have cleaned up.
   */
  async *drain(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): AsyncGenerator<T> {
    const left = new AbortController();
    let running = true;
    const result = work(AbortSignal.any([signal, left.signal])).finally(() => {
      running = false;
      this.#wake();
    });
    result.catch(() => {});
    try {
      for (;;) {
        const item = this.#waiting.shift();
        if (item !== undefined) {
          if (this.#waiting.length < WAITING_MAX) for (const go of this.#room.splice(0)) go();
          yield item;
        } else if (running) {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        } else break;
      }
      yield await result;
    } finally {
      left.abort();
      this.#left = true;
      for (const go of this.#room.splice(0)) go();
      await result.catch(() => {});
    }
  }
}

const WAITING_MAX = 256;
