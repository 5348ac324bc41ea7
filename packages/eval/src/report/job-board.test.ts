import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeResult } from '../testing/fakes.ts';
import { JobBoard } from './job-board.ts';

const trial = (name: string) => ({ trial_name: name, task_id: name, task_path: name, attempt: 1 });

test('what runs is shown with its phase, what ended is counted', () => {
  const board = new JobBoard(0);
  board.take({ type: 'begin', total: 3, done: [] }, 0);
  board.take({ type: 'phase', trial: trial('a__1'), phase: 'agent' }, 0);
  board.take({ type: 'phase', trial: trial('b__1'), phase: 'verify' }, 0);
  const line = board.take({ type: 'trial', trial: trial('a__1'), result: fakeResult('a', 'passed', { reward: 1 }) }, 0);
  assert.match(line!, /^passed {10}1 /);
  const shown = board.lines(65_000, 80, 20).join('\n');
  assert.match(shown, /1\/3 {2}01:05/);
  assert.match(shown, /1 passed/);
  assert.match(shown, /verify {4}01:05 {2}b__1/);
  assert.doesNotMatch(shown, /a__1/);
});

test('a screen of any size is enough', () => {
  const board = new JobBoard(0);
  board.take({ type: 'begin', total: 100, done: [] }, 0);
  for (let i = 0; i < 50; i++) board.take({ type: 'phase', trial: trial(`t${i}`), phase: 'agent' }, 0);
  for (const rows of [3, 5, 60]) assert.ok(board.lines(0, 20, rows).length <= rows);
  for (const line of board.lines(0, 20, 60)) assert.ok(line.length < 20);
});

test('nothing that a program inside wrote drives the terminal', () => {
  const board = new JobBoard(0);
  const result = fakeResult('a', 'agent_error', null);
  result.exception_info = {
    exception_type: 'x',
    exception_message: 'bad\u001b[2J',
    exception_traceback: '',
    occurred_at: '',
  };
  assert.equal(board.take({ type: 'trial', trial: trial('a'), result }, 0)!.includes('\u001b'), false);
});
