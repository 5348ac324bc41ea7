import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codingFor } from './accept-encoding.ts';

test('gzip is for those who name nothing else, identity for all that allow it', () => {
  const cases: [string | undefined, 'identity' | 'gzip' | null, 'identity' | 'gzip' | null][] = [
    [undefined, 'identity', 'identity'],
    ['', 'identity', 'identity'],
    ['gzip', 'gzip', 'identity'],
    ['GZIP;q=0.5', 'gzip', 'identity'],
    ['gzip, deflate', 'identity', 'identity'],
    ['gzip, deflate, br, zstd', 'identity', 'identity'],
    ['gzip;q=0', 'identity', 'identity'],
    ['gzip, br;q=0', 'gzip', 'identity'],
    ['br', 'identity', 'identity'],
    ['*', 'identity', 'identity'],
    ['gzip, identity;q=0', 'gzip', null],
    ['gzip;q=1,*;q=0', 'gzip', null],
    ['br, identity;q=0', null, null],
    ['gzip, br, *;q=0', 'gzip', null],
  ];
  for (const [header, whole, part] of cases)
    assert.deepEqual([header, codingFor(header, true), codingFor(header, false)], [header, whole, part]);
});
