import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { collectEnv, collectPair, formatBytes, formatSeconds, parseCount, parseMiB, parseSeconds } from './units.ts';

test('sizes are MiB unless they say otherwise', () => {
  assert.deepEqual(
    ['512', '512m', '512MiB', '2g', '1.5G', '1t', '2048k'].map(parseMiB),
    [512, 512, 512, 2048, 1536, 1_048_576, 2],
  );
  assert.deepEqual(['0', '100k'].map(parseMiB), [0, 1], 'nothing stays nothing, so that the server can refuse it');
  for (const bad of ['', 'x', '-1', '1x', '1 2'])
    assert.throws(() => parseMiB(bad), { code: 'invalid_argument', message: `not a size: ${bad}` });
});

test('times are seconds unless they say otherwise', () => {
  assert.deepEqual(['90', '90s', '10m', '2h', '1d', '500ms'].map(parseSeconds), [90, 90, 600, 7200, 86_400, 0.5]);
  for (const bad of ['', '1w', '-5']) assert.throws(() => parseSeconds(bad), { code: 'invalid_argument' });
});

test('NAME=VALUE may hold more equal signs, and the last of a name wins', () => {
  assert.deepEqual(collectPair('a=c=d', collectPair('a=b')), { a: 'c=d' });
  assert.throws(() => collectPair('=x'), { code: 'invalid_argument' });
});

test('a variable without a value takes the one it has here, or is left out', () => {
  process.env.VIV_TEST_HERE = 'v';
  assert.deepEqual(collectEnv('VIV_TEST_GONE', collectEnv('VIV_TEST_HERE')), { VIV_TEST_HERE: 'v' });
});

test('counts are whole numbers', () => {
  assert.equal(parseCount('12'), 12);
  for (const bad of ['1.5', '-1', '0x10', '']) assert.throws(() => parseCount(bad), { code: 'invalid_argument' });
});

test('what is formatted is short and never NaN', () => {
  assert.deepEqual([0, 0.25, 5.54, 61, 3600, 90_061].map(formatSeconds), [
    '0s',
    '250ms',
    '5.5s',
    '1m 1s',
    '1h',
    '1d 1h',
  ]);
  assert.deepEqual([0, 1023, 1536, 20 * 1024 ** 2].map(formatBytes), ['0 B', '1023 B', '1.5 KiB', '20 MiB']);
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1e12, noNaN: true }), (value) => {
      assert.doesNotMatch(formatSeconds(value), /NaN|undefined/);
      assert.doesNotMatch(formatBytes(Math.floor(value)), /NaN|undefined/);
      assert.ok(formatSeconds(value).length < 16);
    }),
  );
});
