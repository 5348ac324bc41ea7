import type { VivError } from '@vivarium/protocol';
import { isViolation } from './frame.ts';

const BACKOFF_FIRST_MS = 10;
const BACKOFF_MAX_MS = 2_000;
/** Failures in a row before the guest counts as lost; fewer for the first connection, where somebody waits. */
const FAILURES_MAX = 12;
const FIRST_FAILURES_MAX = 3;
/** A connection that lived this long ends a row of failures. */
const STEADY_MS = 1_000;
/** So often a guest may break the protocol and be connected to again. */
const VIOLATIONS_MAX = 3;

/** Decides whether and when to connect again. Pure: `nowMs` is given. */
export class ReconnectPolicy {
  #failures = 0;
  #violations = 0;
  #everUp = false;
  #upSinceMs: number | null = null;

  get violations(): number {
    return this.#violations;
  }

  connected(nowMs: number): void {
    this.#everUp = true;
    this.#upSinceMs = nowMs;
  }

  /** A connection ended, or could not be made. Returns the delay before the next attempt, or null to give up. */
  failed(error: VivError, nowMs: number, paused: boolean): number | null {
    if (isViolation(error)) {
      this.#violations++;
      if (this.#violations > VIOLATIONS_MAX) return null;
    } else if (error.code === 'sandbox_lost') {
      return null;
    }
    if (this.#upSinceMs !== null && nowMs - this.#upSinceMs >= STEADY_MS) this.#failures = 0;
    this.#upSinceMs = null;
    this.#failures++;
    if (!paused && this.#failures >= (this.#everUp ? FAILURES_MAX : FIRST_FAILURES_MAX)) return null;
    if (this.#failures === 1) return 0;
    return Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** Math.min(this.#failures - 2, 16));
  }
}
