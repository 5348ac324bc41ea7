/** How long a peak of calls is remembered at its full height; then half of it is, and so on. */
const HALF_LIFE_MS = 30_000;

/** How many containers a pool should have, from how many calls were there at once. Times are monotonic. */
export class Demand {
  #peak = 0;
  #peakMs = 0;
  #warm = 0;
  #warmUntilMs = 0;

  /** That many calls are there now, running or waiting. */
  note(calls: number, nowMs: number): void {
    if (calls < this.peak(nowMs)) return;
    this.#peak = calls;
    this.#peakMs = nowMs;
  }

  /** Somebody asked for that many ready ones. */
  warm(count: number, untilMs: number): void {
    this.#warm = count;
    this.#warmUntilMs = untilMs;
  }

  /** What was, is over. */
  forget(): void {
    this.#peak = 0;
    this.#warm = 0;
  }

  peak(nowMs: number): number {
    return Math.floor(this.#peak / 2 ** Math.floor((nowMs - this.#peakMs) / HALF_LIFE_MS));
  }

  /** Containers in all: beside those in calls some are on their way back to clean. */
  wanted(nowMs: number): number {
    const warm = nowMs < this.#warmUntilMs ? this.#warm : 0;
    return Math.max(warm, Math.ceil(this.peak(nowMs) * 1.5));
  }
}
