import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Cause, decideOutcome, type Ending } from './outcome.ts';
import { signalName, signalNumber } from './signal-number.ts';

const table: [string, Ending, Cause | null, number, string, number][] = [
  ['an exit code is passed on', { kind: 'exited', code: 3 }, null, 0, 'exited', 3],
  ['a signal is no exit 0', { kind: 'signaled', code: 15 }, null, 0, 'signaled', 143],
  ['SIGKILL while the OOM count rose is oom', { kind: 'signaled', code: 9 }, null, 1, 'oom', 137],
  ['SIGKILL without it is a signal', { kind: 'signaled', code: 9 }, null, 0, 'signaled', 137],
  ["a shell's 137 while the count rose is oom", { kind: 'exited', code: 137 }, null, 2, 'oom', 137],
  ["a shell's 137 without it is an exit", { kind: 'exited', code: 137 }, null, 0, 'exited', 137],
  ['another signal is no oom', { kind: 'signaled', code: 11 }, null, 1, 'signaled', 139],
  ['a missing program is 127', { kind: 'failed', errno: 2, message: 'x: not found' }, null, 0, 'exited', 127],
  ['a program below a file is 127', { kind: 'failed', errno: 20, message: 'x' }, null, 0, 'exited', 127],
  ['a program that may not be run is 126', { kind: 'failed', errno: 13, message: 'x' }, null, 0, 'exited', 126],
  ['a format nobody knows is 126', { kind: 'failed', errno: 8, message: 'x' }, null, 0, 'exited', 126],
  ['a time-out stays one whatever the exit', { kind: 'exited', code: 0 }, 'timeout', 0, 'timeout', 124],
  ['a time-out is no oom', { kind: 'signaled', code: 9 }, 'timeout', 5, 'timeout', 124],
  ['too much output', { kind: 'signaled', code: 9 }, 'output_limit', 0, 'output_limit', 137],
  ['canceled', { kind: 'signaled', code: 9 }, 'canceled', 0, 'canceled', 137],
  ['a lost sandbox', { kind: 'unknown' }, 'sandbox_lost', 0, 'sandbox_lost', 125],
  ['an unknown end is never the agent’s', { kind: 'unknown' }, null, 0, 'sandbox_lost', 125],
];

for (const [name, ending, cause, oomKills, type, exitCode] of table) {
  test(name, () => {
    const verdict = decideOutcome(ending, cause, oomKills);
    assert.equal(verdict.outcome.type, type);
    assert.equal(verdict.exitCode, exitCode);
  });
}

test('signals go by number, name and SIG name', () => {
  assert.deepEqual(['TERM', 'SIGKILL', 'RTMIN', 'RTMIN+3', 64].map(signalNumber), [15, 9, 34, 37, 64]);
  assert.equal(signalName(9), 'SIGKILL');
  assert.throws(() => signalNumber('NOPE'), { code: 'invalid_argument', message: /NOPE/ });
});
