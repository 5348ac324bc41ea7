import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isConditional, precondition, rangeHolds } from './precondition.ts';

/** Files have times finer than the whole seconds of the headers. */
const MTIME_MS = Date.UTC(2026, 0, 2, 3, 4, 5) + 678;
const at = new Date(MTIME_MS).toUTCString();
const before = new Date(MTIME_MS - 1000).toUTCString();
const later = new Date(MTIME_MS + 5000).toUTCString();

test('a request is answered by its conditions in the order of the standard', () => {
  const cases: [Record<string, string>, 304 | 412 | null][] = [
    [{}, null],
    [{ 'if-modified-since': at }, 304],
    [{ 'if-modified-since': later }, 304],
    [{ 'if-modified-since': before }, null],
    [{ 'if-modified-since': 'nonsense' }, null],
    [{ 'if-unmodified-since': at }, null],
    [{ 'if-unmodified-since': before }, 412],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': '"tag"', 'if-modified-since': at }, null],
    [{ 'if-match': '*', 'if-unmodified-since': before }, null],
    [{ 'if-match': '"tag"' }, 412],
  ];
  for (const [headers, status] of cases) {
    assert.equal(precondition(headers, MTIME_MS), status, JSON.stringify(headers));
    assert.equal(isConditional(headers), Object.keys(headers).length > 0);
  }
});

test('a range is of the file that the client has, or of none', () => {
  assert.equal(rangeHolds({}, MTIME_MS), true);
  assert.equal(rangeHolds({ 'if-range': at }, MTIME_MS), true);
  for (const other of [before, later, '"tag"', '']) assert.equal(rangeHolds({ 'if-range': other }, MTIME_MS), false);
});
