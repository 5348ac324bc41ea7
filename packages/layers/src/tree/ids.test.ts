import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { shiftedAcl, shiftedCapability, shiftedId } from './ids.ts';

test('ids of the range come back, all others are nobody', () => {
  const base = fc.integer({ min: 0x4000, max: 0x7fff }).map((slot) => slot * 65_536);
  fc.assert(
    fc.property(base, fc.nat({ max: 0xfffffffe }), (shift, id) => {
      const inside = id >= shift && id < shift + 65_536;
      assert.equal(shiftedId(id, shift), inside ? id - shift : 65_534);
    }),
  );
  assert.equal(shiftedId(123_456_789, 0), 123_456_789);
});

test('capabilities of the sandbox root become plain ones; other values pass untouched', () => {
  const ours = Buffer.from('010000030004000000000000000000000000000000000040', 'hex');
  assert.equal(shiftedCapability(ours, 0x40000000).toString('hex'), '0100000200040000000000000000000000000000');
  assert.equal(shiftedCapability(ours, 0x40010000), ours);
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const value = Buffer.from(bytes);
      if (value.length !== 24) assert.equal(shiftedCapability(value, 0), value);
    }),
  );
});

test('an ACL of any bytes is no reason to fail and keeps its length', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.boolean(), (bytes, valid) => {
      const value = Buffer.from(valid ? [2, 0, 0, 0, ...bytes] : bytes);
      assert.equal(shiftedAcl(value, 0x40000000).length, value.length);
    }),
  );
});
