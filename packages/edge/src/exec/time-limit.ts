import type { Cancel, Clock, Deadlines } from '@vivarium/core';

/** How long a command may run: a clock that stands still while the sandbox is paused. */
export class TimeLimit {
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #onOver: () => void;
  /** Null: no limit. */
  #leftMs: number | null;
  #timer: Cancel | null = null;
  #setMs = 0;

  constructor(
    { clock, deadlines }: { clock: Clock; deadlines: Deadlines },
    limitMs: number | null,
    onOver: () => void,
  ) {
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#leftMs = limitMs;
    this.#onOver = onOver;
  }

  go(): void {
    if (this.#leftMs === null || this.#timer) return;
    this.#setMs = this.#clock.monotonicMs();
    const deadline = this.#deadlines.add(this.#clock.now() + Math.max(0, this.#leftMs), this.#onOver);
    this.#timer = () => this.#deadlines.cancel(deadline);
  }

  pause(): void {
    if (!this.#timer) return;
    this.#timer();
    this.#timer = null;
    this.#leftMs! -= this.#clock.monotonicMs() - this.#setMs;
  }

  /** Time (ms) that it ran unseen counts too. */
  count(ranMs: number): void {
    if (this.#leftMs !== null) this.#leftMs -= ranMs;
  }
}
