import { VivError } from '@vivarium/protocol';

/** At most `width` at a time; at most `queue` more wait in order, the rest is refused with `too_many_requests`. */
export class Gate {
  readonly #width: number;
  readonly #queue: number;
  readonly #what: string;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  constructor(what: string, width: number, queue: number) {
    this.#what = what;
    this.#width = width;
    this.#queue = queue;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Throws when there is no room to wait either. */
  check(): void {
    if (this.#inside < this.#width || this.#waiting.length < this.#queue) return;
    throw new VivError('too_many_requests', `${this.#queue} ${this.#what} are already waiting`, {
      details: { maximum: this.#queue },
    });
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    this.check();
    if (this.#inside < this.#width) this.#inside += 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#inside -= 1;
    }
  }
}
