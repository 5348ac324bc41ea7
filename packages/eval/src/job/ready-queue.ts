/**
 * Work that becomes ready in parts: a slot takes what is ready, and waits only when nothing is. So a trial whose image is
 * still being built holds no slot.
 */
export class ReadyQueue<T> {
  readonly #ready: T[] = [];
  readonly #waiting: ((item: T | undefined) => void)[] = [];
  #open: number;

  /** `parts` calls of `add` will come. */
  constructor(parts: number) {
    this.#open = parts;
  }

  add(items: readonly T[]): void {
    if (this.#open === 0) return;
    this.#open--;
    this.#ready.push(...items);
    while (this.#waiting.length > 0 && this.#ready.length > 0) this.#waiting.shift()!(this.#ready.shift()!);
    if (this.#open === 0) for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  /** Undefined when there is and will be no more. */
  take(): Promise<T | undefined> {
    const item = this.#ready.shift();
    if (item !== undefined || this.#open === 0) return Promise.resolve(item);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** No more is handed out. */
  close(): void {
    this.#open = 0;
    this.#ready.length = 0;
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }
}
