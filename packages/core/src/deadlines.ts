import type { Cancel, Clock } from './clock.ts';

/** A moment (monotonic) at which something is to be done; `at` is `null` once it fired or was cancelled. */
export type Deadline = { at: number | null; index: number; run: () => void };

/**
 * Any number of deadlines on one timer (a binary heap): thousands of sandboxes cost thousands of small objects, not timers.
 * Given as wall-clock times, kept as the time that is left: a wall clock that is set meanwhile, forward or back, moves none of them.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #heap: Deadline[] = [];
  #cancelTimer: Cancel | null = null;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#heap.length;
  }

  /** Runs the callback once at or after `atMs`. */
  add(atMs: number, run: () => void): Deadline {
    const at = this.#clock.monotonicMs() + (atMs - this.#clock.now());
    const deadline: Deadline = { at, index: this.#heap.length, run };
    this.#heap.push(deadline);
    this.#up(deadline.index);
    this.#arm();
    return deadline;
  }

  /** Cancelling one that fired is fine. */
  cancel(deadline: Deadline | null | undefined): void {
    if (!deadline || deadline.at === null) return;
    this.#remove(deadline);
  }

  /** Cancels all. */
  close(): void {
    for (const deadline of this.#heap) deadline.at = null;
    this.#heap.length = 0;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  #fire(): void {
    this.#cancelTimer = null;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonicMs();
    for (let first = this.#heap[0]; first && first.at! <= now; first = this.#heap[0]) {
      this.#remove(first);
      first.run();
    }
    this.#arm();
  }

  #arm(): void {
    const first = this.#heap[0];
    if (!first || first.at! >= this.#timerAt) return;
    this.#cancelTimer?.();
    this.#timerAt = first.at!;
    this.#cancelTimer = this.#clock.after(first.at! - this.#clock.monotonicMs(), () => this.#fire());
  }

  #remove(deadline: Deadline): void {
    const { index } = deadline;
    const last = this.#heap.pop()!;
    deadline.at = null;
    if (last === deadline) return;
    this.#heap[index] = last;
    last.index = index;
    this.#down(index);
    this.#up(last.index);
  }

  #up(start: number): void {
    for (let i = start; i > 0; ) {
      const parent = (i - 1) >> 1;
      if (this.#heap[parent]!.at! <= this.#heap[i]!.at!) return;
      this.#swap(i, parent);
      i = parent;
    }
  }

  #down(start: number): void {
    for (let i = start; ; ) {
      let least = i;
      for (const child of [2 * i + 1, 2 * i + 2]) {
        if (child < this.#heap.length && this.#heap[child]!.at! < this.#heap[least]!.at!) least = child;
      }
      if (least === i) return;
      this.#swap(i, least);
      i = least;
    }
  }

  #swap(a: number, b: number): void {
    const x = this.#heap[a]!;
    const y = this.#heap[b]!;
    this.#heap[a] = y;
    this.#heap[b] = x;
    y.index = a;
    x.index = b;
  }
}
