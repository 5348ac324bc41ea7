/** What decides whether waiting counts: a frozen sandbox can't answer. */
export type Pausable = { readonly paused: boolean };

/** A bounded wait that starts again when it ran out while the sandbox was paused. */
export class Deadline {
  readonly #ms: number;
  readonly #pausable: Pausable;
  readonly #expired: () => void;
  #timer: NodeJS.Timeout | null = null;

  constructor(ms: number, pausable: Pausable, expired: () => void) {
    this.#ms = ms;
    this.#pausable = pausable;
    this.#expired = expired;
  }

  /** Starts the wait, or starts it anew. */
  arm(): void {
    if (this.#timer !== null) this.#timer.refresh();
    else this.#timer = setTimeout(this.#fire, this.#ms);
  }

  clear(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  readonly #fire = (): void => {
    this.#timer = null;
    if (this.#pausable.paused) this.arm();
    else this.#expired();
  };
}
