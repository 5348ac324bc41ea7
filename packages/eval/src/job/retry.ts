import { setTimeout as sleep } from 'node:timers/promises';
import type { TrialOutcome } from '../trial/outcome.ts';
import type { TrialResult } from '../trial/result.ts';

export type EarlierTry = { outcome: TrialOutcome; message: string; at: string };

const BACKOFF_MS = { first: 1_000, max: 30_000 };
/** A node that is full frees itself as trials end: waiting for that is not a retry. */
const ROOM_WAIT_MS = 600_000;
const NO_ROOM = /:(node_full|too_many_requests|quota_exceeded|node_disk_full)$/;

export type RetryPolicy = { maxRetries: number; rerunSuspect: number };

/**
 * Runs `attempt` until it ends otherwise than by an infrastructure failure, at most `maxRetries` more times; one that the
 * host disturbed at most `rerunSuspect` more times. Earlier tries are told to the next one.
 */
export async function withRetries(
  attempt: (earlier: EarlierTry[]) => Promise<TrialResult>,
  policy: RetryPolicy,
  signal: AbortSignal,
  pause: (ms: number) => Promise<unknown> = (ms) => sleep(ms, undefined, { signal }),
): Promise<TrialResult> {
  const earlier: EarlierTry[] = [];
  let [retries, reruns, roomMs] = [0, 0, 0];
  for (;;) {
    const result = await attempt([...earlier]);
    const why = result.exception_info?.exception_message ?? result.vivarium.suspectReasons.join('; ');
    if (result.vivarium.outcome === 'infra_error') {
      const wait = backoffMs(retries);
      if (NO_ROOM.test(result.exception_info?.exception_type ?? '') && roomMs < ROOM_WAIT_MS) roomMs += BACKOFF_MS.max;
      else if (retries++ >= policy.maxRetries) return result;
      await pause(wait);
    } else if (result.vivarium.suspect && reruns < policy.rerunSuspect) {
      reruns++;
    } else return result;
    if (earlier.length < 100)
      earlier.push({ outcome: result.vivarium.outcome, message: why.slice(0, 500), at: result.finished_at });
  }
}

function backoffMs(retries: number): number {
  const ceiling = Math.min(BACKOFF_MS.max, BACKOFF_MS.first * 2 ** Math.min(retries, 10));
  return ceiling / 2 + (Math.random() * ceiling) / 2;
}
