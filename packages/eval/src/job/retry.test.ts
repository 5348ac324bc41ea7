import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeResult } from '../testing/fakes.ts';
import type { TrialOutcome } from '../trial/outcome.ts';
import { type EarlierTry, type RetryPolicy, withRetries } from './retry.ts';

const signal = new AbortController().signal;

/** Ends as told, one after the other; the last one for ever. */
async function play(ends: (TrialOutcome | 'suspect' | 'full')[], policy: RetryPolicy) {
  const seen: EarlierTry[][] = [];
  const result = await withRetries(
    async (earlier) => {
      seen.push(earlier);
      const end = ends.length > 1 ? ends.shift()! : ends[0]!;
      if (end === 'suspect') {
        const odd = fakeResult('t', 'passed', { reward: 1 });
        return { ...odd, vivarium: { ...odd.vivarium, suspect: true, suspectReasons: ['the host swapped'] } };
      }
      const failed = fakeResult('t', end === 'full' ? 'infra_error' : end, end === 'passed' ? { reward: 1 } : null);
      if (end === 'infra_error') failed.exception_info!.exception_type = 'infra_error:connection_lost';
      return failed;
    },
    policy,
    signal,
    async () => {},
  );
  return { outcome: result.vivarium.outcome, tries: seen.length, last: seen.at(-1)! };
}

test('an infrastructure failure is tried again, as often as asked, and what came before is told', async () => {
  const { outcome, tries, last } = await play(['infra_error', 'infra_error', 'passed'], {
    maxRetries: 2,
    rerunSuspect: 0,
  });
  assert.deepEqual({ outcome, tries }, { outcome: 'passed', tries: 3 });
  assert.deepEqual(
    last.map((earlier) => earlier.outcome),
    ['infra_error', 'infra_error'],
  );
});

test('when retries are used up the failure stands', async () => {
  const { outcome, tries } = await play(['infra_error'], { maxRetries: 2, rerunSuspect: 0 });
  assert.deepEqual({ outcome, tries }, { outcome: 'infra_error', tries: 3 });
});

test('what the task or the agent did is never tried again', async () => {
  for (const end of ['failed', 'agent_timeout', 'agent_error', 'verifier_error', 'build_error', 'refused'] as const)
    assert.equal((await play([end], { maxRetries: 5, rerunSuspect: 5 })).tries, 1);
});

test('waiting for room on a full node is no retry, and has an end', async () => {
  assert.equal((await play(['full', 'full', 'full', 'passed'], { maxRetries: 0, rerunSuspect: 0 })).outcome, 'passed');
  const { outcome, tries } = await play(['full'], { maxRetries: 1, rerunSuspect: 0 });
  assert.equal(outcome, 'infra_error');
  assert.ok(tries < 50);
});

test('a suspect trial is run again only by rule, and the rule has a bound', async () => {
  assert.equal((await play(['suspect'], { maxRetries: 2, rerunSuspect: 0 })).tries, 1);
  assert.equal((await play(['suspect'], { maxRetries: 2, rerunSuspect: 3 })).tries, 4);
});
