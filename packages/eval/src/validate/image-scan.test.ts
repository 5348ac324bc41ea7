import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repositories } from './image-scan.ts';

test('what git says is told apart by repository, and everything else is left out', () => {
  const blob = 'a'.repeat(40);
  const output = `noise\nrepo /app/.git\nbeyond abc1234 the fix\nunreachable commit ${blob}\n${blob} blob 12\nrepo /b/.git\nunread\nodd`;
  assert.deepEqual(repositories(output), [
    { dir: '/app/.git', unread: false, beyond: ['abc1234 the fix'], unreachable: ['aaaaaaaaaa'], blobs: [blob] },
    { dir: '/b/.git', unread: true, beyond: [], unreachable: [], blobs: [] },
  ]);
});
