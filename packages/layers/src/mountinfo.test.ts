import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mountPoints } from './mountinfo.ts';

test('mount points of one type are found, with escaped names made whole', () => {
  const text = [
    '36 35 98:0 / / rw,noatime master:1 - ext4 /dev/root rw',
    '40 36 0:50 / /run/viv\\040x/layers/ab ro,nodev - erofs /file ro',
    '41 36 0:51 / /gr\\303\\266\\303\\237e ro - erofs /file ro',
    '',
  ].join('\n');
  assert.deepEqual(mountPoints('erofs', text), new Set(['/run/viv x/layers/ab', '/größe']));
});
