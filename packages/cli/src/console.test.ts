import assert from 'node:assert/strict';
import { test } from 'node:test';
import { table, visible } from './console.ts';

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
