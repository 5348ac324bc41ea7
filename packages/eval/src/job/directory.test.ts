import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JobDirectory } from './directory.ts';

test('a directory for jobs that can not be made is told by name', () => {
  assert.throws(() => JobDirectory.create('/proc/jobs', 'first'), {
    code: 'invalid_argument',
    message: /\/proc\/jobs\/first/,
    hint: /-o/,
  });
});
