import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { decodeCursor, encodeCursor, pageOf } from './cursor.ts';

test('a cursor comes back as the key it was made of', () => {
  fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (key) => assert.equal(decodeCursor(encodeCursor(key)), key)));
});

test('a made-up cursor is refused', () => {
  for (const cursor of ['', 'x', '!!', Buffer.from('c2:a').toString('base64url'), `${encodeCursor('a')}=`]) {
    assert.throws(() => decodeCursor(cursor), { code: 'invalid_argument' });
  }
});

test('a page is cut at its limit and says where to go on', () => {
  assert.deepEqual(
    pageOf(['a', 'b', 'c'], 2, (x) => x),
    { items: ['a', 'b'], nextCursor: encodeCursor('b') },
  );
  assert.deepEqual(
    pageOf(['a', 'b'], 2, (x) => x),
    { items: ['a', 'b'], nextCursor: null },
  );
});
