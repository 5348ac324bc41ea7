import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Exec, type Outcome, VivError } from '@vivarium/protocol';
import { endOf, failedToStart } from './process-end.ts';

const ended = (outcome: Outcome | null, message: string | null = null) =>
  ({ outcome, message, pid: 7, argv: ['prog'] }) as unknown as Exec;
const SEEN = { sandboxRuns: true, starter: true };

test('the end of a process has the texts that clients show', () => {
  const end = (outcome: Outcome) => endOf(ended(outcome), SEEN);
  assert.deepEqual(end({ type: 'exited', code: 0 }), { exitCode: 0, exited: true, status: 'exit status 0' });
  assert.deepEqual(end({ type: 'exited', code: 3 }), {
    exitCode: 3,
    exited: true,
    status: 'exit status 3',
    error: 'exit status 3',
  });
  assert.equal(end({ type: 'signaled', signal: 11 }).error, 'signal: segmentation fault');
  assert.equal(end({ type: 'signaled', signal: 35 }).error, 'signal: signal 35');
  assert.equal(end({ type: 'canceled' }).status, 'signal: killed');
  assert.deepEqual([end({ type: 'oom' }).exitCode, end({ type: 'oom' }).exited], [137, false]);
});

test('only the stream that set a time-out ends with it', () => {
  assert.throws(() => endOf(ended({ type: 'timeout' }), SEEN), { code: 'request_timeout' });
  assert.equal(endOf(ended({ type: 'timeout' }), { ...SEEN, starter: false }).error, 'signal: killed');
});

test('a command whose sandbox goes has no end', () => {
  assert.throws(() => endOf(ended({ type: 'canceled' }), { ...SEEN, sandboxRuns: false }), { code: 'sandbox_dead' });
  assert.throws(() => endOf(ended({ type: 'sandbox_lost' }), SEEN), { code: 'sandbox_lost' });
  assert.throws(() => endOf(ended(null), SEEN), VivError);
});

test('a program that can not be executed never ran; one that exits with 127 did', () => {
  const failure = failedToStart(ended({ type: 'exited', code: 127 }, 'prog: not found'));
  assert.deepEqual(
    [failure?.code, failure?.message],
    ['invalid_argument', "error starting process 'prog': prog: not found"],
  );
  assert.equal(failedToStart(ended({ type: 'exited', code: 127 })), undefined);
  assert.equal(failedToStart(ended(null)), undefined);
});
