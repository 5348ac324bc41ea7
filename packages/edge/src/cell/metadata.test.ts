import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { metadataItems, parseMetadata } from './metadata.ts';

const pair = (key: Uint8Array, value: Uint8Array) =>
  Buffer.concat([Buffer.from([key.length, value.length & 255, value.length >> 8]), key, value]);

test('any pairs of text come back, also names that objects have of their own', () => {
  const key = fc.oneof(fc.constant('__proto__'), fc.string({ minLength: 1, maxLength: 40 }));
  fc.assert(
    fc.property(fc.dictionary(key, fc.string({ maxLength: 300 })), (metadata) => {
      const block = Buffer.concat(
        Object.entries(metadata).map(([k, v]) => pair(Buffer.from(k).subarray(0, 255), Buffer.from(v))),
      );
      assert.deepEqual(Object.entries(parseMetadata(block)), Object.entries(metadata));
    }),
  );
});

test('whatever bytes a guest sends are parsed or a violation', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        parseMetadata(Buffer.from(bytes));
      } catch (error) {
        assert.match((error as Error).message, /cut off/);
      }
    }),
  );
});

test('a pair that is no UTF-8 is left out', () => {
  const block = Buffer.concat([
    pair(Buffer.from('a'), Buffer.from([0xff])),
    pair(Buffer.from([0xc3]), Buffer.from('x')),
    pair(Buffer.from('b'), Buffer.from('ok')),
  ]);
  assert.deepEqual(parseMetadata(block), { b: 'ok' });
});

test('what the guest would refuse is refused by name', () => {
  assert.deepEqual(metadataItems(undefined), []);
  assert.deepEqual(metadataItems({ a: 'b=c' }), ['a=b=c']);
  for (const metadata of [{ '': 'x' }, { 'a=b': 'x' }, { ['k'.repeat(247)]: 'x' }, { big: 'x'.repeat(4090) }])
    assert.throws(() => metadataItems(metadata as Record<string, string>), { code: 'invalid_argument' });
});
