/** A pending timer; cancelling twice is fine. */
export type Cancel = () => void;

/**
 * Time, injected everywhere so that simulations and tests decide what time it is.
 * `now` is wall-clock milliseconds since the epoch; `monotonicMs` never goes back and is what durations are taken from.
 */
export interface Clock {
  now(): number;
  monotonicMs(): number;
  /** Calls once after at least `ms`. Does not keep the process alive. */
  after(ms: number, callback: () => void): Cancel;
}

/** setTimeout's largest delay; longer ones would fire at once (Node.js documentation of timers). */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** The machine's clock. Delays beyond what setTimeout can do are split. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  after(ms, callback) {
    let timer: ReturnType<typeof setTimeout>;
    const arm = (left: number) => {
      const step = Math.min(left, TIMER_MAX_MS);
      timer = setTimeout(() => (left > step ? arm(left - step) : callback()), step);
      timer.unref();
    };
    arm(Math.max(0, ms));
    return () => clearTimeout(timer);
  },
};

/** RFC 3339 UTC with milliseconds, the form of every time in the API. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
