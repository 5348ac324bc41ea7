import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errnoName, errnoOf, systemError } from './libc.ts';

test('a kernel that mounts only block devices is told by name', () => {
  assert.equal(errnoName(15), 'ENOTBLK');
  assert.equal(errnoOf(systemError('mount', 'erofs', 15)), 'ENOTBLK');
});

test('a number without a name stays a number', () => {
  assert.equal(errnoName(2), 'ENOENT');
  assert.equal(errnoName(9999), 'errno 9999');
});
