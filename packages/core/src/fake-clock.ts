import type { Cancel, Clock } from './clock.ts';

type Timer = { at: number; order: number; callback: () => void };

/** A clock that moves only when told: tests and simulations. Timers run in order of their time, then of their making. */
export class FakeClock implements Clock {
  #now: number;
  /** By how much the wall clock was set. */
  #set = 0;
  #start: number;
  #order = 0;
  #timers = new Set<Timer>();

  constructor(startMs = 1_700_000_000_000) {
    this.#now = startMs;
    this.#start = startMs;
  }

  now(): number {
    return this.#now + this.#set;
  }

  monotonicMs(): number {
    return this.#now - this.#start;
  }

  after(ms: number, callback: () => void): Cancel {
    const timer = { at: this.#now + Math.max(0, ms), order: this.#order++, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Timers that have not fired. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Somebody sets the wall clock, forward or back; no time passes. */
  setWall(byMs: number): void {
    this.#set += byMs;
  }

  /** Moves the time on and fires what is due on the way; lets promise reactions run between timers. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#next(end);
      if (!next) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await settle();
    }
    this.#now = end;
    await settle();
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > end) continue;
      if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order)) first = timer;
    }
    return first;
  }
}

function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
