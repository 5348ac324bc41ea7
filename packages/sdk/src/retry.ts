import type { ErrorCode } from '@vivarium/protocol/error-codes.ts';
import { VivError } from '@vivarium/protocol/viv-error.ts';

/** Refusals that say "not now" before anything was done, and broken connections. Full nodes and quotas are the caller's decision. */
const HEALING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'too_many_requests',
  'shutting_down',
  'connection_lost',
  'server_unreachable',
]);

/** Can the same request, sent again by itself, be expected to work soon? */
export function heals(error: unknown): error is VivError {
  return error instanceof VivError && HEALING.has(error.code);
}

/** Full jitter: between half and all of 100 ms · 2^attempt, at most 3 s. */
export function backoffMs(attempt: number): number {
  const ceiling = Math.min(3_000, 100 * 2 ** Math.min(attempt, 10));
  return ceiling / 2 + (Math.random() * ceiling) / 2;
}

/** Repeats `attempt` while its error heals and `forMs` since the first failure has not passed; the last error is thrown. */
export async function retry<T>(attempt: () => Promise<T>, forMs: number, signal?: AbortSignal): Promise<T> {
  let deadline = 0;
  for (let tries = 0; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!heals(error)) throw error;
      deadline ||= Date.now() + forMs;
      const pause = backoffMs(tries);
      if (Date.now() + pause > deadline) throw error;
      await sleep(pause, signal);
    }
  }
}

/** Rejects with the signal's reason when it aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** 128 random bits as hex: names one attempt at something that must happen at most once. */
export function idempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
