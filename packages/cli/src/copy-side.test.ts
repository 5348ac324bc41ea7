import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastComponent, parseSide } from './copy-side.ts';

test('a side is a sandbox path, a local path or a tar', () => {
  assert.deepEqual(parseSide('web:/srv/a b'), { kind: 'sandbox', sandbox: 'web', path: '/srv/a b' });
  assert.deepEqual(parseSide('web:~'), { kind: 'sandbox', sandbox: 'web', path: '~' });
  assert.deepEqual(parseSide('web:/a:b\nc'), { kind: 'sandbox', sandbox: 'web', path: '/a:b\nc' });
  assert.deepEqual(parseSide('./a:b'), { kind: 'local', path: './a:b' });
  assert.deepEqual(parseSide('/x/y:z'), { kind: 'local', path: '/x/y:z' });
  assert.deepEqual(parseSide('-'), { kind: 'tar' });
  assert.throws(() => parseSide('web:'), { code: 'invalid_argument' });
});

test('the last component ignores slashes at the end', () => {
  assert.deepEqual(['/a/b', '/a/b//', 'b', '/'].map(lastComponent), ['b', 'b', 'b', '']);
});
