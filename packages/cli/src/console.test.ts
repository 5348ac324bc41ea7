import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VivError } from '@vivarium/sdk/error.ts';
import { complain } from './complaint.ts';
import { table, visible, visibleText } from './console.ts';

test('columns are as wide as their widest cell and lines have no space at the end', () => {
  assert.equal(
    table(
      ['ID', 'NAME', 'X'],
      [
        ['a', 'long name', ''],
        ['bbb', '', 'y'],
      ],
    ),
    'ID   NAME       X\na    long name\nbbb             y',
  );
});

test('what comes from a sandbox can not move the cursor or set the window title', () => {
  assert.equal(visible('a\u001b[2Jb\u0007\r\n\u009b'), 'a\\x1B[2Jb\\x07\\r\\n\\x9B');
});

test('a whole text keeps its lines and tabs, and nothing else that moves the cursor', () => {
  assert.equal(visibleText('a\tb\r\n\n50 %\r\u001b[2Jend\n'), 'a\tb\r\n\n50 %\\r\\x1B[2Jend\n');
});

test('what comes from a sandbox can not hide text or turn it round', () => {
  assert.equal(visible('a\u001b[8mb\u202ec\u2066'), 'a\\x1B[8mb\\u202ec\\u2066');
  assert.equal(visible('\u001b[31mred\u001b[39m'), '\u001b[31mred\u001b[39m', 'our own colours stay');
});

test('names in error messages can not drive the terminal either', (t) => {
  const write = t.mock.method(process.stderr, 'write', () => true);
  complain(new VivError('path_not_found', 'first\nstat /x\u001b]0;title\u0007: none'));
  const said = write.mock.calls.map((call) => String(call.arguments[0])).join('');
  write.mock.restore();
  assert.ok(said.startsWith('viv: first\nstat /x\\x1B]0;title\\x07: none\n'), said);
});
